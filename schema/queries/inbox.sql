-- name: InsertReceived :execrows
INSERT INTO inbox (consumer, idempotency_key, event_id, fingerprint, received_at)
VALUES (sqlc.arg(consumer), sqlc.arg(idempotency_key), sqlc.arg(event_id), sqlc.arg(fingerprint), sqlc.arg(now))
ON CONFLICT (consumer, idempotency_key) DO NOTHING;

-- name: ReceivedFingerprint :one
SELECT fingerprint FROM inbox WHERE consumer = sqlc.arg(consumer) AND idempotency_key = sqlc.arg(idempotency_key);

-- name: PurgeReceived :execrows
DELETE FROM inbox WHERE inbox.consumer = sqlc.arg(consumer) AND inbox.idempotency_key IN (
  SELECT i.idempotency_key FROM inbox AS i
  WHERE i.consumer = sqlc.arg(consumer) AND i.received_at < sqlc.arg(before)
  ORDER BY i.received_at LIMIT sqlc.arg(batch));
