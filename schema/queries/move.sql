-- name: Movable :many
-- The open and dead deliveries of a destination by seq.
SELECT d.seq, d.ordering_key, d.status, d.hold, d.ready, d.available_at, o.id, o.event_type,
  EXISTS (SELECT 1 FROM outbox_delivery AS e WHERE e.seq = d.seq AND e.destination = sqlc.arg(to_destination)) AS existing
FROM outbox_delivery AS d CROSS JOIN outbox AS o
WHERE d.seq > sqlc.arg(after) AND d.destination = sqlc.arg(from_destination) AND o.seq = d.seq
  AND (d.status IN ('PENDING', 'PROCESSING') OR (d.status = 'DEAD_LETTER' AND EXISTS (
    SELECT 1 FROM dead_letter_queue AS q WHERE q.original_event_id = o.id AND q.destination = d.destination)))
ORDER BY d.seq LIMIT sqlc.arg(batch);

-- name: MoveDelivery :execrows
-- A lease that has ended leaves a suspect.
UPDATE outbox_delivery
SET destination = sqlc.arg(to_destination), hold = CAST(sqlc.arg(hold) AS INTEGER), ready = ready * (ordering_key IS NULL),
  in_line = (ordering_key IS NOT NULL) * CASE status WHEN 'DEAD_LETTER' THEN CAST(sqlc.arg(hold) AS INTEGER) ELSE 1 END,
  status = CASE status WHEN 'PROCESSING' THEN 'PENDING' ELSE status END, lease_token = 0, updated_at = sqlc.arg(now)
WHERE seq = sqlc.arg(seq) AND destination = sqlc.arg(from_destination);

-- name: MoveDeadLetter :execrows
UPDATE dead_letter_queue SET destination = sqlc.arg(to_destination)
WHERE original_event_id = sqlc.arg(event_id) AND destination = sqlc.arg(from_destination);
