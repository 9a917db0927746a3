-- The order service's own tables; outboxgen's stand beside them.
CREATE TABLE IF NOT EXISTS orders (
    id             TEXT PRIMARY KEY,
    customer_email TEXT NOT NULL,
    amount         TEXT NOT NULL, -- a decimal's exact text
    channel        TEXT NOT NULL,
    placed_at      TEXT NOT NULL, -- RFC 3339, UTC
    cancelled_at   TEXT
) STRICT;
