-- The line of a key and whose turn it is. One of a key has ready = 1 at most;
-- an index makes sure.

-- name: PassTurn :execrows
-- The turn has been taken from the settled delivery: it goes to the next of
-- the same run that still carries the token, else to the earliest in line,
-- unless that is a dead letter that holds.
UPDATE outbox_delivery SET ready = 1
WHERE outbox_delivery.destination = sqlc.arg(destination) AND outbox_delivery.status IN ('PENDING', 'PROCESSING') AND outbox_delivery.seq = coalesce(
  (SELECT r.seq FROM outbox_delivery AS r
    WHERE r.destination = sqlc.arg(destination) AND r.ordering_key = sqlc.arg(ordering_key) AND r.ready = 0 AND r.status = 'PROCESSING'
      AND r.lease_token = sqlc.arg(lease_token)
    ORDER BY r.seq LIMIT 1),
  (SELECT min(x.seq) FROM outbox_delivery AS x
    WHERE x.destination = sqlc.arg(destination) AND x.ordering_key = sqlc.arg(ordering_key) AND x.in_line = 1));

-- name: GiveBackRun :execrows
-- What follows a failed delivery in its run. Leases that have ended leave suspects.
UPDATE outbox_delivery
SET status = 'PENDING', ready = 0, suspect = outbox_delivery.lease_token < 0 OR outbox_delivery.available_at <= sqlc.arg(now), lease_token = 0,
  available_at = min(outbox_delivery.created_at, sqlc.arg(now)), updated_at = sqlc.arg(now)
WHERE outbox_delivery.destination = sqlc.arg(destination) AND outbox_delivery.seq IN (
  SELECT r.seq FROM outbox_delivery AS r
  WHERE r.destination = sqlc.arg(destination) AND r.ordering_key = sqlc.arg(ordering_key) AND r.ready = 0 AND r.status = 'PROCESSING'
    AND r.lease_token = sqlc.arg(lease_token) AND r.seq > sqlc.arg(failed));

-- name: ReleaseRun :execrows
-- The leases of a key's run have ended and its turn is claimed anew: whoever
-- held them is fenced off, and what follows are suspects.
UPDATE outbox_delivery
SET status = 'PENDING', ready = 0, suspect = 1, lease_token = 0, available_at = min(outbox_delivery.created_at, sqlc.arg(now)), updated_at = sqlc.arg(now)
WHERE outbox_delivery.destination = sqlc.arg(destination) AND outbox_delivery.seq IN (
  SELECT r.seq FROM outbox_delivery AS r
  WHERE r.destination = sqlc.arg(destination) AND r.ordering_key = sqlc.arg(ordering_key) AND r.ready = 0 AND r.status = 'PROCESSING');

-- name: ReleaseHolder :execrows
-- The lease of the one that has the turn has ended, and the turn goes to
-- another.
UPDATE outbox_delivery
SET status = 'PENDING', ready = 0, suspect = 1, lease_token = 0, available_at = min(created_at, sqlc.arg(now)), updated_at = sqlc.arg(now)
WHERE seq = sqlc.arg(seq) AND destination = sqlc.arg(destination) AND ready = 1 AND in_line = 1;

-- name: TurnHolder :one
SELECT t.seq, t.status FROM outbox_delivery AS t
WHERE t.destination = sqlc.arg(destination) AND t.ordering_key = sqlc.arg(ordering_key) AND t.ready = 1 AND t.in_line = 1;

-- name: FirstInLine :one
SELECT x.seq, x.status FROM outbox_delivery AS x
WHERE x.destination = sqlc.arg(destination) AND x.ordering_key = sqlc.arg(ordering_key) AND x.in_line = 1
ORDER BY x.seq LIMIT 1;

-- name: TakeTurn :execrows
UPDATE outbox_delivery SET ready = 0
WHERE seq = sqlc.arg(seq) AND destination = sqlc.arg(destination) AND ordering_key IS NOT NULL;

-- name: GiveTurn :execrows
UPDATE outbox_delivery SET ready = 1
WHERE seq = sqlc.arg(seq) AND destination = sqlc.arg(destination) AND status IN ('PENDING', 'PROCESSING');

-- name: KeysWithoutTurn :many
SELECT h.destination, CAST(h.ordering_key AS TEXT) AS ordering_key FROM (
  SELECT x.destination, x.ordering_key, min(x.seq) AS seq FROM outbox_delivery AS x
  WHERE x.in_line = 1 GROUP BY x.destination, x.ordering_key HAVING sum(x.ready) = 0) AS h CROSS JOIN outbox_delivery AS d
WHERE d.seq = h.seq AND d.destination = h.destination AND d.status <> 'DEAD_LETTER';
