-- name: AppliedMigration :one
SELECT CAST(coalesce(max(version), 0) AS INTEGER) AS version FROM outbox_schema;
