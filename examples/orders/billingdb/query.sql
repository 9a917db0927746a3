-- name: CreateInvoice :exec
INSERT INTO invoices (order_id, email, amount) VALUES (?, ?, ?);

-- name: VoidInvoice :exec
UPDATE invoices SET voided = 1 WHERE order_id = ?;

-- name: CountInvoices :one
SELECT count(*) FROM invoices;
