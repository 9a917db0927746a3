-- name: DestinationMarks :many
SELECT destination, paused_until, paused_reason, disabled_reason FROM outbox_destination;

-- name: PauseDestination :exec
-- A shorter pause does not shorten a longer one.
INSERT INTO outbox_destination (destination, paused_until, paused_reason, updated_at)
VALUES (sqlc.arg(destination), sqlc.arg(until), sqlc.arg(reason), sqlc.arg(now))
ON CONFLICT (destination) DO UPDATE SET paused_until = excluded.paused_until, paused_reason = excluded.paused_reason, updated_at = excluded.updated_at
WHERE outbox_destination.paused_until IS NULL OR outbox_destination.paused_until < excluded.paused_until;

-- name: ResumeDestination :exec
UPDATE outbox_destination SET paused_until = NULL, paused_reason = NULL, updated_at = sqlc.arg(now) WHERE destination = sqlc.arg(destination);

-- name: DisableDestination :exec
INSERT INTO outbox_destination (destination, disabled_reason, updated_at)
VALUES (sqlc.arg(destination), sqlc.arg(reason), sqlc.arg(now))
ON CONFLICT (destination) DO UPDATE SET disabled_reason = excluded.disabled_reason, updated_at = excluded.updated_at;

-- name: EnableDestination :exec
UPDATE outbox_destination SET disabled_reason = NULL, updated_at = sqlc.arg(now) WHERE destination = sqlc.arg(destination);

-- name: CountReady :many
SELECT d.destination, count(*) AS pending, CAST(min(d.available_at) AS INTEGER) AS oldest
FROM outbox_delivery AS d WHERE d.ready = 1 AND d.suspect = 0 GROUP BY d.destination;

-- name: CountLeased :many
SELECT d.destination, CAST(sum(d.status = 'PROCESSING') AS INTEGER) AS processing, CAST(sum(d.status = 'PENDING') AS INTEGER) AS pending, CAST(min(d.available_at) AS INTEGER) AS oldest
FROM outbox_delivery AS d WHERE d.ready = 1 AND d.suspect = 1 GROUP BY d.destination;

-- name: CountWaiting :many
-- Behind their key, leased in a run or not.
SELECT d.destination, CAST(sum(d.status = 'PROCESSING') AS INTEGER) AS processing, CAST(sum(d.status = 'PENDING') AS INTEGER) AS pending
FROM outbox_delivery AS d WHERE d.in_line = 1 AND d.ready = 0 GROUP BY d.destination;

-- name: CountDeadLetters :many
SELECT q.destination, count(*) AS dead_letters FROM dead_letter_queue AS q GROUP BY q.destination;
