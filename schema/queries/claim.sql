-- Never bind ready, in_line or suspect: with a parameter the planner cannot
-- tell that a partial index applies.

-- name: Due :many
SELECT d.seq, d.ordering_key, d.hold, d.suspect, d.status, d.retry_count, d.crash_count, d.replay_count, d.available_at, d.lease_token, d.created_at AS waiting_since,
  o.id, o.event_type, o.schema_version, o.idempotency_key, o.created_at, o.headers_json, o.payload_json
FROM outbox_delivery AS d CROSS JOIN outbox AS o
WHERE d.destination = sqlc.arg(destination) AND d.ready = 1 AND d.suspect = 0 AND d.available_at <= sqlc.arg(now) AND o.seq = d.seq
ORDER BY d.available_at, d.seq LIMIT sqlc.arg(room);

-- name: DueUntried :many
-- The index holds retry_count, so that tried rows are stepped over in it.
SELECT d.seq, d.ordering_key, d.hold, d.suspect, d.status, d.retry_count, d.crash_count, d.replay_count, d.available_at, d.lease_token, d.created_at AS waiting_since,
  o.id, o.event_type, o.schema_version, o.idempotency_key, o.created_at, o.headers_json, o.payload_json
FROM (
  SELECT x.seq, x.available_at FROM outbox_delivery AS x
  WHERE x.destination = sqlc.arg(destination) AND x.ready = 1 AND x.suspect = 0 AND x.available_at <= sqlc.arg(now) AND x.retry_count = 0
  ORDER BY x.available_at, x.seq LIMIT sqlc.arg(room)) AS w
  CROSS JOIN outbox_delivery AS d CROSS JOIN outbox AS o
WHERE d.seq = w.seq AND d.destination = sqlc.arg(destination) AND o.seq = w.seq
ORDER BY d.available_at, d.seq;

-- name: DueByRetries :many
SELECT d.seq, d.ordering_key, d.hold, d.suspect, d.status, d.retry_count, d.crash_count, d.replay_count, d.available_at, d.lease_token, d.created_at AS waiting_since,
  o.id, o.event_type, o.schema_version, o.idempotency_key, o.created_at, o.headers_json, o.payload_json
FROM (
  SELECT x.seq, x.available_at FROM outbox_delivery AS x
  WHERE x.destination = sqlc.arg(destination) AND x.ready = 1 AND x.suspect = 0 AND x.available_at <= sqlc.arg(now)
  ORDER BY x.retry_count, x.available_at, x.seq LIMIT sqlc.arg(room)) AS w
  CROSS JOIN outbox_delivery AS d CROSS JOIN outbox AS o
WHERE d.seq = w.seq AND d.destination = sqlc.arg(destination) AND o.seq = w.seq
ORDER BY d.retry_count, d.available_at, d.seq;

-- name: Followers :many
-- Those behind a claimed delivery in its key's line. Where the run ends is
-- for the caller to see.
SELECT d.seq, d.ordering_key, d.hold, d.suspect, d.status, d.retry_count, d.crash_count, d.replay_count, d.available_at, d.lease_token, d.created_at AS waiting_since,
  o.id, o.event_type, o.schema_version, o.idempotency_key, o.created_at, o.headers_json, o.payload_json
FROM outbox_delivery AS d CROSS JOIN outbox AS o
WHERE d.destination = sqlc.arg(destination) AND d.ordering_key = sqlc.arg(ordering_key) AND d.in_line = 1 AND d.seq > sqlc.arg(head) AND o.seq = d.seq
ORDER BY d.seq LIMIT sqlc.arg(room);

-- name: Suspects :many
SELECT d.seq, d.ordering_key, d.hold, d.suspect, d.status, d.retry_count, d.crash_count, d.replay_count, d.available_at, d.lease_token, d.created_at AS waiting_since,
  o.id, o.event_type, o.schema_version, o.idempotency_key, o.created_at, o.headers_json, o.payload_json
FROM outbox_delivery AS d CROSS JOIN outbox AS o
WHERE d.destination = sqlc.arg(destination) AND d.ready = 1 AND d.suspect = 1 AND d.available_at <= sqlc.arg(now) AND o.seq = d.seq
ORDER BY d.available_at, d.seq LIMIT sqlc.arg(room);

-- name: LeaseMany :execrows
UPDATE outbox_delivery
SET status = 'PROCESSING', suspect = 1, lease_token = sqlc.arg(lease_token), available_at = sqlc.arg(lease_end), updated_at = sqlc.arg(now)
WHERE outbox_delivery.destination = sqlc.arg(destination)
  AND outbox_delivery.seq IN (SELECT j.value FROM json_each(CAST(sqlc.arg(seqs) AS TEXT)) AS j);

-- name: LeaseSuspect :execrows
UPDATE outbox_delivery
SET status = 'PROCESSING', crash_count = crash_count + 1, lease_token = sqlc.arg(lease_token), available_at = sqlc.arg(lease_end),
  updated_at = sqlc.arg(now)
WHERE seq = sqlc.arg(seq) AND destination = sqlc.arg(destination) AND ready = 1 AND suspect = 1;

-- name: RunLeaseEnd :one
-- When the last lease behind a key's turn ends; 0 for none.
SELECT CAST(coalesce(max(r.available_at), 0) AS INTEGER) AS lease_end FROM outbox_delivery AS r
WHERE r.destination = sqlc.arg(destination) AND r.ordering_key = sqlc.arg(ordering_key) AND r.ready = 0 AND r.status = 'PROCESSING';

-- name: ClaimState :one
SELECT
  CAST(coalesce((SELECT min(d.available_at) FROM outbox_delivery AS d
    WHERE d.destination = sqlc.arg(destination) AND d.ready = 1 AND d.suspect = 0), -1) AS INTEGER) AS next_due,
  CAST(coalesce((SELECT min(l.available_at) FROM outbox_delivery AS l
    WHERE l.destination = sqlc.arg(destination) AND l.ready = 1 AND l.suspect = 1 AND l.available_at > sqlc.arg(now)), -1) AS INTEGER) AS next_lease_end,
  EXISTS (SELECT 1 FROM outbox_delivery AS s
    WHERE s.destination = sqlc.arg(destination) AND s.ready = 1 AND s.suspect = 1 AND s.available_at <= sqlc.arg(now)) AS suspect_due;
