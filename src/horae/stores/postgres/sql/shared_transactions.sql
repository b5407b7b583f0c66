-- Statements on a connection of the caller.

-- name: database_identity
-- Identity of the server and the database, independent of the names by which they are reached; and whether the tables exist.
SELECT
  extract(epoch FROM pg_postmaster_start_time())::text, (SELECT oid FROM pg_database WHERE datname = current_database())::bigint,
  to_regclass('@tasks') IS NOT NULL

-- name: count_own_events
-- Number of events that this transaction has written already.
SELECT coalesce(
  (SELECT size FROM @event_batches WHERE tx = pg_current_xact_id()::text::bigint + (SELECT shift FROM @numbering)), 0
)

-- name: notify
-- The notification is delivered at the commit of the transaction.
SELECT pg_notify($1, '')
