-- Export of all rows by pages, and import of the rows of another store.

-- name: count_parts
-- Row counts in the order of the parts of a transfer.
SELECT
  ((SELECT last FROM tokens) > 0) + EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'events' AND seq > 0),
  (SELECT count(*) FROM metadata),
  (SELECT count(*) FROM records),
  (SELECT count(*) FROM lanes),
  (SELECT count(*) FROM blocked_owners),
  (SELECT count(*) FROM nodes),
  (SELECT count(*) FROM counters WHERE number <> 0),
  (SELECT count(*) FROM tasks),
  (SELECT count(*) FROM chain_rows),
  (SELECT count(*) FROM runs) - (SELECT count(*) FROM runs INDEXED BY runs_live WHERE live = 1),
  (SELECT count(*) FROM lines),
  (SELECT count(*) FROM events),
  (SELECT count(*) FROM streams),
  (SELECT count(*) FROM messages)

-- name: marks
SELECT (SELECT last FROM tokens), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)

-- name: metadata_page
SELECT name, value FROM metadata WHERE name > ? ORDER BY name LIMIT ?

-- name: all_records_page
SELECT {record_columns} FROM records WHERE (kind, key) > (?, ?) ORDER BY kind, key LIMIT ?

-- name: limits_page
SELECT name, slot_limit, rate_starts, rate_period, started, wake_at FROM lanes WHERE name > ? ORDER BY name LIMIT ?

-- name: blocked_owners_page
SELECT owner, reason FROM blocked_owners WHERE owner > ? ORDER BY owner LIMIT ?

-- name: counters_page
SELECT owner, hour, name, number FROM counters
WHERE (hour, owner, name) > (?, ?, ?) AND number <> 0 ORDER BY hour, owner, name LIMIT ?

-- name: ended_runs_page
SELECT {run_columns}, tasks.id FROM runs NOT INDEXED JOIN tasks ON tasks.seq = runs.task
WHERE runs.seq > ? AND runs.live = 0 ORDER BY runs.seq LIMIT ?

-- name: all_lines_page
SELECT number, run_id, at, level, text FROM lines WHERE (run_id, number) > (?, ?) ORDER BY run_id, number LIMIT ?

-- name: raise_token
UPDATE tokens SET last = max(last, ?)

-- name: first_event_number
INSERT INTO sqlite_sequence (name, seq)
SELECT 'events', ? WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'events')

-- name: raise_event_number
UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'events'

-- name: put_record
REPLACE INTO records (kind, key, owner, body, version, expires) VALUES (?, ?, ?, ?, ?, ?)

-- name: replace_counters
REPLACE INTO counters (owner, hour, name, number) VALUES {rows}

-- name: versions_by_id
SELECT tasks.id, tasks.seq, task_state.version
FROM carray(?) AS task_ids CROSS JOIN tasks ON tasks.id = task_ids.value JOIN task_state ON task_state.task = tasks.seq

-- name: delete_lane_slots_of_tasks
DELETE FROM lane_slots WHERE run_id IN (SELECT id FROM runs INDEXED BY runs_live WHERE live = 1 AND task IN carray(?))

-- name: delete_live_runs_of_tasks
DELETE FROM runs INDEXED BY runs_live WHERE live = 1 AND task IN carray(?)

-- name: delete_statuses_of_tasks
DELETE FROM task_state WHERE task IN carray(?)

-- name: drop_definitions
DELETE FROM tasks WHERE seq IN carray(?)

-- name: import_runs
INSERT INTO runs ({row_columns}, stray, live) SELECT *, 0 FROM (VALUES {rows}) WHERE true ON CONFLICT DO NOTHING

-- name: import_lines
INSERT INTO lines (run_id, number, at, level, text) VALUES {rows} ON CONFLICT DO NOTHING

-- name: import_events
INSERT INTO events (number, kind, at, owner, task_id, run_id, detail) VALUES {rows} ON CONFLICT DO NOTHING

-- name: chain_rows_page
SELECT {chain_row_columns}, tasks.id FROM chain_rows JOIN tasks ON tasks.seq = chain_rows.task
WHERE (chain_rows.task, chain_rows.root) > (?, ?) ORDER BY chain_rows.task, chain_rows.root LIMIT ?
