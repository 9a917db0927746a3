-- The tables of outboxgen. Times are microseconds since 1970, UTC.

-- Which numbered migrations have been applied. PRAGMA user_version is left to
-- the owner of the database.
CREATE TABLE outbox_schema (
  version INTEGER PRIMARY KEY
) STRICT;

-- One row an event, never updated: change data capture may tail it. What is
-- long stands last, so that reading the rest of a row does not page through it.
CREATE TABLE outbox (
  seq             INTEGER PRIMARY KEY AUTOINCREMENT,
  id              TEXT    NOT NULL UNIQUE,
  event_type      TEXT    NOT NULL CHECK (event_type <> ''),
  schema_version  INTEGER NOT NULL CHECK (schema_version > 0),
  ordering_key    TEXT             CHECK (ordering_key <> ''),
  idempotency_key TEXT    NOT NULL UNIQUE CHECK (idempotency_key <> ''),
  created_at      INTEGER NOT NULL,
  headers_json    TEXT,
  payload_json    TEXT    NOT NULL
) STRICT;

-- One row an event and destination: the lifecycle.
--
-- available_at  not claimable before; while PROCESSING it is the lease's end
-- ready         1 while it has its turn: open, and the one of its key that may
--               be claimed. Without an ordering key: while open
-- in_line       1 while it holds its place in the line of its (destination,
--               ordering_key): open, or a dead letter that holds. 0 without a key
-- suspect       1 from a claim until its settle: when the lease ends in
--               between, the process that held it may have died of it
-- crash_count   claims as a suspect that no settle has answered
-- lease_token   names the lease, 0 when there is none; below 0 for a claim as
--               a suspect
-- created_at    of the event, or of the last replay
CREATE TABLE outbox_delivery (
  seq          INTEGER NOT NULL REFERENCES outbox (seq),
  destination  TEXT    NOT NULL CHECK (destination <> ''),
  ordering_key TEXT             CHECK (ordering_key <> ''),
  hold         INTEGER NOT NULL CHECK (hold IN (0, 1)),
  ready        INTEGER NOT NULL CHECK (ready IN (0, 1)),
  in_line      INTEGER NOT NULL CHECK (in_line IN (0, 1)),
  suspect      INTEGER NOT NULL DEFAULT 0 CHECK (suspect IN (0, 1)),
  status       TEXT    NOT NULL DEFAULT 'PENDING',
  retry_count  INTEGER NOT NULL DEFAULT 0 CHECK (retry_count >= 0),
  crash_count  INTEGER NOT NULL DEFAULT 0 CHECK (crash_count >= 0),
  replay_count INTEGER NOT NULL DEFAULT 0 CHECK (replay_count >= 0),
  last_error   TEXT,
  available_at INTEGER NOT NULL,
  lease_token  INTEGER NOT NULL DEFAULT 0,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  PRIMARY KEY (seq, destination),
  CHECK (CASE status
    WHEN 'PENDING'     THEN in_line = (ordering_key IS NOT NULL) AND ready + in_line > 0 AND lease_token = 0
    WHEN 'PROCESSING'  THEN in_line = (ordering_key IS NOT NULL) AND ready + in_line > 0 AND lease_token <> 0
    WHEN 'PUBLISHED'   THEN ready + in_line + suspect + lease_token = 0
    WHEN 'DEAD_LETTER' THEN ready + suspect + lease_token = 0 AND in_line <= hold * (ordering_key IS NOT NULL)
    ELSE 0 END)
) STRICT, WITHOUT ROWID;

-- Each index holds only the rows that its reader is after; published and dead
-- ones, and those behind their key, are in none that a claim reads.

-- What an ordinary claim may take once it is due.
CREATE INDEX outbox_delivery_due ON outbox_delivery (destination, available_at, seq, retry_count) WHERE ready = 1 AND suspect = 0;

-- What is leased, and what was when its lease ended.
CREATE INDEX outbox_delivery_leased ON outbox_delivery (destination, available_at, seq) WHERE ready = 1 AND suspect = 1;

-- The line of each key.
CREATE INDEX outbox_delivery_line ON outbox_delivery (destination, ordering_key, seq) WHERE in_line = 1;

-- Whose turn it is: one of a key at most, whatever happens.
CREATE UNIQUE INDEX outbox_delivery_turn ON outbox_delivery (destination, ordering_key) WHERE ready = 1 AND in_line = 1;

-- The rest of a run: leased behind the delivery that has the turn.
CREATE INDEX outbox_delivery_run ON outbox_delivery (destination, ordering_key, seq) WHERE ready = 0 AND status = 'PROCESSING';

-- Failed attempts, the last ones of each delivery. duration is in microseconds.
CREATE TABLE outbox_attempt (
  seq         INTEGER NOT NULL,
  destination TEXT    NOT NULL,
  attempt     INTEGER NOT NULL CHECK (attempt > 0),
  started_at  INTEGER NOT NULL,
  duration    INTEGER NOT NULL,
  status_code INTEGER NOT NULL DEFAULT 0,
  cause       TEXT    NOT NULL,
  error       TEXT    NOT NULL,
  PRIMARY KEY (seq, destination, attempt),
  FOREIGN KEY (seq, destination) REFERENCES outbox_delivery (seq, destination) ON UPDATE CASCADE ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE dead_letter_queue (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  original_event_id TEXT    NOT NULL REFERENCES outbox (id),
  destination       TEXT    NOT NULL,
  failure_kind      TEXT    NOT NULL CHECK (failure_kind IN ('exhausted', 'permanent', 'expired', 'crash', 'undecodable', 'manual')),
  failure_reason    TEXT    NOT NULL,
  retry_count       INTEGER NOT NULL CHECK (retry_count >= 0),
  quarantined_at    INTEGER NOT NULL,
  payload_json      TEXT    NOT NULL,
  UNIQUE (original_event_id, destination)
) STRICT;

-- What is remembered of a destination across restarts.
CREATE TABLE outbox_destination (
  destination     TEXT    PRIMARY KEY CHECK (destination <> ''),
  paused_until    INTEGER,
  paused_reason   TEXT,
  disabled_reason TEXT             CHECK (disabled_reason <> ''),
  updated_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The receiver's side: which events each consumer has applied.
CREATE TABLE inbox (
  consumer        TEXT    NOT NULL CHECK (consumer <> ''),
  idempotency_key TEXT    NOT NULL CHECK (idempotency_key <> ''),
  event_id        TEXT    NOT NULL,
  fingerprint     TEXT    NOT NULL,
  received_at     INTEGER NOT NULL,
  PRIMARY KEY (consumer, idempotency_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_received ON inbox (consumer, received_at);

-- For people: each event with the worst state of its deliveries.
CREATE VIEW outbox_status AS
SELECT
  o.seq,
  o.id,
  o.event_type,
  o.schema_version,
  o.ordering_key,
  CASE max(CASE d.status WHEN 'DEAD_LETTER' THEN 4 WHEN 'PENDING' THEN 3 WHEN 'PROCESSING' THEN 2 ELSE 1 END)
    WHEN 4 THEN 'DEAD_LETTER' WHEN 3 THEN 'PENDING' WHEN 2 THEN 'PROCESSING' ELSE 'PUBLISHED' END AS status,
  count(d.destination) AS deliveries,
  coalesce(sum(d.status = 'PUBLISHED'), 0) AS published,
  max(d.retry_count) AS retry_count,
  max(d.last_error) AS last_error,
  strftime('%Y-%m-%dT%H:%M:%fZ', o.created_at / 1e6, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', min(CASE d.status WHEN 'PENDING' THEN d.available_at END) / 1e6, 'unixepoch') AS due_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', max(d.updated_at) / 1e6, 'unixepoch') AS updated_at,
  o.idempotency_key,
  o.payload_json
FROM outbox AS o LEFT JOIN outbox_delivery AS d ON d.seq = o.seq
GROUP BY o.seq;

INSERT INTO outbox_schema (version) VALUES (1);
