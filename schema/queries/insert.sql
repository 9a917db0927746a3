-- name: InsertEvent :execresult
-- After DO NOTHING the last insert id is an older row's: look at the rows
-- affected first.
INSERT INTO outbox (id, event_type, schema_version, ordering_key, idempotency_key, created_at, headers_json, payload_json)
VALUES (sqlc.arg(id), sqlc.arg(event_type), sqlc.arg(schema_version), sqlc.narg(ordering_key), sqlc.arg(idempotency_key),
  sqlc.arg(now), sqlc.narg(headers_json), sqlc.arg(payload_json))
ON CONFLICT (idempotency_key) DO NOTHING;

-- name: FindDuplicate :one
SELECT id, event_type, CAST(payload_json <> sqlc.arg(payload_json) AS INTEGER) AS payload_differs
FROM outbox WHERE idempotency_key = sqlc.arg(idempotency_key);

-- name: InsertDelivery :exec
INSERT INTO outbox_delivery (seq, destination, hold, ready, in_line, available_at, created_at, updated_at)
VALUES (sqlc.arg(seq), sqlc.arg(destination), sqlc.arg(hold), 1, 0, sqlc.arg(now), sqlc.arg(now), sqlc.arg(now));

-- name: InsertKeyedDelivery :exec
INSERT INTO outbox_delivery (seq, destination, ordering_key, hold, in_line, available_at, created_at, updated_at, ready)
VALUES (sqlc.arg(seq), sqlc.arg(destination), sqlc.arg(ordering_key), sqlc.arg(hold), 1, sqlc.arg(now), sqlc.arg(now), sqlc.arg(now),
  NOT EXISTS (SELECT 1 FROM outbox_delivery AS e
    WHERE e.destination = sqlc.arg(destination) AND e.ordering_key = sqlc.arg(ordering_key) AND e.in_line = 1));

-- name: LastSeq :one
SELECT CAST(coalesce(max(seq), 0) AS INTEGER) AS seq FROM outbox;
