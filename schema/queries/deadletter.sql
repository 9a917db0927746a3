-- name: DeadLetters :many
SELECT q.id, q.original_event_id, q.destination, q.failure_kind, q.failure_reason, q.retry_count, q.quarantined_at,
  CAST(CASE WHEN CAST(sqlc.arg(with_payload) AS INTEGER) THEN q.payload_json ELSE '' END AS TEXT) AS payload_json,
  o.seq, o.event_type, o.schema_version, o.ordering_key, o.idempotency_key, o.created_at, d.replay_count
FROM dead_letter_queue AS q CROSS JOIN outbox AS o CROSS JOIN outbox_delivery AS d
WHERE q.id > sqlc.arg(after) AND q.id <= sqlc.arg(upto)
  AND (sqlc.narg(ids) IS NULL OR q.id IN (SELECT j.value FROM json_each(CAST(sqlc.narg(ids) AS TEXT)) AS j))
  AND (sqlc.narg(event_id) IS NULL OR q.original_event_id = sqlc.narg(event_id))
  AND (sqlc.narg(destination) IS NULL OR q.destination = sqlc.narg(destination))
  AND (sqlc.narg(failure_kind) IS NULL OR q.failure_kind = sqlc.narg(failure_kind))
  AND (sqlc.narg(quarantined_before) IS NULL OR q.quarantined_at <= sqlc.narg(quarantined_before))
  AND (sqlc.narg(reason) IS NULL OR instr(q.failure_reason, sqlc.narg(reason)) > 0)
  AND o.id = q.original_event_id
  AND (sqlc.narg(event_type) IS NULL OR o.event_type = sqlc.narg(event_type))
  AND d.seq = o.seq AND d.destination = q.destination
ORDER BY q.id LIMIT sqlc.arg(batch);

-- name: LastDeadLetter :one
SELECT CAST(coalesce(max(id), 0) AS INTEGER) AS id FROM dead_letter_queue;

-- name: DropDeadLetter :execrows
DELETE FROM dead_letter_queue WHERE id = ?;

-- name: ReplayDelivery :execrows
UPDATE outbox_delivery
SET status = 'PENDING', ready = ordering_key IS NULL, in_line = ordering_key IS NOT NULL, retry_count = 0, crash_count = 0,
  replay_count = replay_count + 1, last_error = NULL, available_at = sqlc.arg(now), created_at = sqlc.arg(now), updated_at = sqlc.arg(now)
WHERE seq = sqlc.arg(seq) AND destination = sqlc.arg(destination) AND status = 'DEAD_LETTER';

-- name: DiscardDelivery :execrows
UPDATE outbox_delivery SET in_line = 0, updated_at = sqlc.arg(now)
WHERE seq = sqlc.arg(seq) AND destination = sqlc.arg(destination) AND status = 'DEAD_LETTER';

-- name: Attempts :many
SELECT a.destination, a.attempt, a.started_at, a.duration, a.status_code, a.cause, a.error
FROM outbox AS o CROSS JOIN outbox_attempt AS a
WHERE o.id = sqlc.arg(event_id) AND a.seq = o.seq AND (sqlc.narg(destination) IS NULL OR a.destination = sqlc.narg(destination))
ORDER BY a.destination, a.attempt;
