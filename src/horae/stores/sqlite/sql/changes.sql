-- Writes of decided changes. A statement with {rows} writes many rows at once.

-- name: last_task
SELECT seq FROM sqlite_sequence WHERE name = 'tasks'

-- name: insert_tasks
INSERT INTO tasks (
  seq, id, owner, name, schedule, target_kind, target_spec, payload, policies, created, key, lane, labels, version
) VALUES {rows}

-- name: update_task
UPDATE tasks SET
  id = ?, owner = ?, name = ?, schedule = ?, target_kind = ?, target_spec = ?, payload = ?, policies = ?, created = ?,
  key = ?, lane = ?, labels = ?, version = ?
WHERE seq = ?

-- name: put_statuses
REPLACE INTO task_state (
  task, version, state, counted, failures, skips_left, last_end, last_result, paused_since, pause_cause, pause_note,
  pause_until, reason, ended, live
) VALUES {rows}

-- name: next_version
UPDATE task_state SET version = version + 1 WHERE task = ?

-- name: put_entries
REPLACE INTO agenda (
  task, slot, kind, due, planned, owner, priority, state, origin, attempt, forgiven, deaths, through, span_first,
  span_last, span_count, waited, in_order, lane, run_id
) VALUES {rows}

-- name: drop_entries
DELETE FROM agenda WHERE (task, slot) IN (VALUES {rows})

-- name: last_run
SELECT coalesce(max(seq), 0) FROM runs

-- name: existing_run
SELECT 1 FROM runs INDEXED BY runs_of_task WHERE task = ? AND planned = ? AND attempt = ? AND origin = ?
UNION ALL
SELECT 1 FROM runs INDEXED BY runs_stray WHERE stray = 1 AND id = ?

-- name: insert_runs
INSERT INTO runs (
  seq, id, task, owner, origin, planned, due, attempt, live, stray, state, reason, token, node, claimed, started, ended,
  deadline, span_first, span_last, span_count, forgiven, deaths, alone, in_order, cancel, lanes, result, error
) VALUES {rows}

-- name: insert_started_runs
-- Fast path for ordinary starts: columns that are not listed get their defaults.
INSERT INTO runs (
  seq, id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started
) VALUES {rows}

-- name: end_runs
-- Fast path for ordinary ends: columns that are not listed stay as they are.
UPDATE runs SET
  live = 0, state = ended_runs.column2, reason = ended_runs.column3, started = ended_runs.column4,
  ended = ended_runs.column5, deadline = ended_runs.column6, result = ended_runs.column7, error = ended_runs.column8
FROM (VALUES {rows}) AS ended_runs WHERE runs.seq = ended_runs.column1

-- name: update_run
UPDATE runs SET
  live = ?, state = ?, reason = ?, token = ?, node = ?, claimed = ?, started = ?, ended = ?, deadline = ?,
  span_first = ?, span_last = ?, span_count = ?, forgiven = ?, deaths = ?, alone = ?, in_order = ?, cancel = ?,
  lanes = ?, result = ?, error = ?
WHERE seq = ?

-- name: insert_lane_slots
INSERT INTO lane_slots (lane, run_id) VALUES {rows}

-- name: delete_lane_slot
DELETE FROM lane_slots WHERE lane = ? AND run_id = ?

-- name: insert_events
INSERT INTO events (kind, at, owner, task_id, run_id, detail) VALUES {rows}

-- name: add_to_counters
INSERT INTO counters (owner, hour, name, number) VALUES {rows}
ON CONFLICT DO UPDATE SET number = number + excluded.number

-- name: delete_old_counters
DELETE FROM counters WHERE hour BETWEEN 1 AND ?

-- name: delete_old_lateness
-- All counters of these hours but outcomes, which are kept longer.
DELETE FROM counters WHERE hour BETWEEN ? AND ? AND name NOT LIKE 'run:%'

-- name: delete_lines
DELETE FROM lines WHERE run_id IN (SELECT id FROM runs WHERE task = ?)

-- name: delete_runs
DELETE FROM runs WHERE task = ?

-- name: delete_entries_of_tasks
DELETE FROM agenda WHERE task IN carray(?)

-- name: delete_status
DELETE FROM task_state WHERE task = ?

-- name: delete_task
DELETE FROM tasks WHERE seq = ?
