-- What is asked of a connection that somebody else has opened.

-- name: where_this_is
-- Which server and database it leads to, whatever they are called from there; and whether the tables are there.
SELECT
  extract(epoch FROM pg_postmaster_start_time())::text, (SELECT oid FROM pg_database WHERE datname = current_database())::bigint,
  to_regclass('@tasks') IS NOT NULL

-- name: told_so_far
-- How many events this transaction has told of already.
SELECT coalesce(
  (SELECT size FROM @told WHERE tx = pg_current_xact_id()::text::bigint + (SELECT shift FROM @numbering)), 0
)

-- name: ring
-- Heard when the transaction is committed, and not before.
SELECT pg_notify($1, '')
