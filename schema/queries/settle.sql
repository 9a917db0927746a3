-- name: Leased :many
SELECT d.seq, d.ordering_key, d.ready, d.hold, d.lease_token
FROM json_each(CAST(sqlc.arg(seqs) AS TEXT)) AS j CROSS JOIN outbox_delivery AS d
WHERE d.seq = j.value AND d.destination = sqlc.arg(destination) AND d.status = 'PROCESSING';

-- name: PublishMany :execrows
UPDATE outbox_delivery
SET status = 'PUBLISHED', ready = 0, in_line = 0, suspect = 0, crash_count = 0, lease_token = 0, last_error = NULL, updated_at = sqlc.arg(now)
WHERE outbox_delivery.destination = sqlc.arg(destination) AND outbox_delivery.status = 'PROCESSING'
  AND outbox_delivery.seq IN (SELECT j.value FROM json_each(CAST(sqlc.arg(seqs) AS TEXT)) AS j);

-- name: RetryOne :execrows
UPDATE outbox_delivery
SET status = 'PENDING', ready = ordering_key IS NULL, suspect = 0, crash_count = 0, lease_token = 0, retry_count = retry_count + sqlc.arg(spent),
  available_at = sqlc.arg(available_at), last_error = sqlc.narg(last_error), updated_at = sqlc.arg(now)
WHERE seq = sqlc.arg(seq) AND destination = sqlc.arg(destination) AND lease_token = sqlc.arg(lease_token) AND status = 'PROCESSING';

-- name: GiveBackOne :execrows
-- A claim as a suspect (its token is below 0) raised crash_count: that is undone,
-- and it stays a suspect. With no delay it is due at its old place.
UPDATE outbox_delivery
SET status = 'PENDING', ready = ordering_key IS NULL, suspect = lease_token < 0, crash_count = crash_count - (lease_token < 0), lease_token = 0,
  available_at = CASE CAST(sqlc.arg(delay) AS INTEGER) WHEN 0 THEN min(created_at, sqlc.arg(now)) ELSE sqlc.arg(now) + CAST(sqlc.arg(delay) AS INTEGER) END,
  last_error = coalesce(sqlc.narg(last_error), last_error), updated_at = sqlc.arg(now)
WHERE seq = sqlc.arg(seq) AND destination = sqlc.arg(destination) AND lease_token = sqlc.arg(lease_token) AND status = 'PROCESSING';

-- name: QuarantineOne :execrows
UPDATE outbox_delivery
SET status = 'DEAD_LETTER', ready = 0, in_line = in_line * hold, suspect = 0, crash_count = 0, lease_token = 0,
  retry_count = retry_count + sqlc.arg(spent), last_error = sqlc.arg(last_error), updated_at = sqlc.arg(now)
WHERE seq = sqlc.arg(seq) AND destination = sqlc.arg(destination) AND status IN ('PENDING', 'PROCESSING');

-- name: InsertDeadLetter :execlastid
INSERT INTO dead_letter_queue (original_event_id, destination, failure_kind, failure_reason, retry_count, quarantined_at, payload_json)
SELECT o.id, d.destination, CAST(sqlc.arg(failure_kind) AS TEXT), CAST(sqlc.arg(failure_reason) AS TEXT), d.retry_count, CAST(sqlc.arg(now) AS INTEGER), o.payload_json
FROM outbox_delivery AS d CROSS JOIN outbox AS o
WHERE d.seq = sqlc.arg(seq) AND d.destination = sqlc.arg(destination) AND o.seq = d.seq;

-- name: InsertAttempt :exec
INSERT INTO outbox_attempt (seq, destination, attempt, started_at, duration, status_code, cause, error)
SELECT CAST(sqlc.arg(seq) AS INTEGER), CAST(sqlc.arg(destination) AS TEXT), coalesce(max(a.attempt), 0) + 1, CAST(sqlc.arg(started_at) AS INTEGER),
  CAST(sqlc.arg(duration) AS INTEGER), CAST(sqlc.arg(status_code) AS INTEGER), CAST(sqlc.arg(cause) AS TEXT), CAST(sqlc.arg(error) AS TEXT)
FROM outbox_attempt AS a WHERE a.seq = sqlc.arg(seq) AND a.destination = sqlc.arg(destination);

-- name: CapAttempts :exec
DELETE FROM outbox_attempt
WHERE outbox_attempt.seq = sqlc.arg(seq) AND outbox_attempt.destination = sqlc.arg(destination) AND outbox_attempt.attempt <= (
  SELECT max(a.attempt) FROM outbox_attempt AS a WHERE a.seq = sqlc.arg(seq) AND a.destination = sqlc.arg(destination)) - sqlc.arg(kept);

-- name: RenewOne :execrows
UPDATE outbox_delivery SET available_at = sqlc.arg(lease_end), updated_at = sqlc.arg(now)
WHERE seq = sqlc.arg(seq) AND destination = sqlc.arg(destination) AND lease_token = sqlc.arg(lease_token) AND status = 'PROCESSING';
