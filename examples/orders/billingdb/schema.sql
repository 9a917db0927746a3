-- Billing's own table, in billing's own database.
CREATE TABLE IF NOT EXISTS invoices (
    order_id TEXT PRIMARY KEY,
    email    TEXT NOT NULL,
    amount   TEXT NOT NULL,
    voided   INTEGER NOT NULL DEFAULT 0
) STRICT;
