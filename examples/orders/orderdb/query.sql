-- name: CreateOrder :exec
INSERT INTO orders (id, customer_email, amount, channel, placed_at)
VALUES (?, ?, ?, ?, ?);

-- name: CancelOrder :execrows
UPDATE orders SET cancelled_at = ? WHERE id = ? AND cancelled_at IS NULL;

-- name: CountOrders :one
SELECT count(*) FROM orders;
