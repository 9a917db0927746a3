-- name: PurgeWindow :many
-- The next events by seq, and whether each is done with: every delivery
-- published or discarded, and all that before the given time.
SELECT o.seq, CAST(o.created_at < sqlc.arg(before) AND NOT EXISTS (
    SELECT 1 FROM outbox_delivery AS d
    WHERE d.seq = o.seq AND (d.updated_at >= sqlc.arg(before) OR d.status IN ('PENDING', 'PROCESSING') OR (d.status = 'DEAD_LETTER' AND EXISTS (
      SELECT 1 FROM dead_letter_queue AS q WHERE q.original_event_id = o.id AND q.destination = d.destination)))) AS INTEGER) AS done,
  CAST(o.created_at < sqlc.arg(before) AS INTEGER) AS old
FROM outbox AS o WHERE o.seq > sqlc.arg(after) ORDER BY o.seq LIMIT sqlc.arg(batch);

-- name: PurgeAttempts :execrows
DELETE FROM outbox_attempt WHERE outbox_attempt.seq IN (SELECT j.value FROM json_each(CAST(sqlc.arg(seqs) AS TEXT)) AS j);

-- name: PurgeDeliveries :execrows
DELETE FROM outbox_delivery WHERE outbox_delivery.seq IN (SELECT j.value FROM json_each(CAST(sqlc.arg(seqs) AS TEXT)) AS j);

-- name: PurgeEvents :execrows
DELETE FROM outbox WHERE outbox.seq IN (SELECT j.value FROM json_each(CAST(sqlc.arg(seqs) AS TEXT)) AS j);
