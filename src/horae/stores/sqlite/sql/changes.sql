-- Writes of decided changes. A statement with {rows} writes many rows at once.

-- name: last_task
SELECT seq FROM sqlite_sequence WHERE name = 'tasks'

-- name: insert_tasks
INSERT INTO tasks (
  seq, id, owner, name, schedule, target_kind, target_spec, payload, policies, created, key, lane, labels, version,
  successors
) VALUES {rows}

-- name: update_task
UPDATE tasks SET
  id = ?, owner = ?, name = ?, schedule = ?, target_kind = ?, target_spec = ?, payload = ?, policies = ?, created = ?,
  key = ?, lane = ?, labels = ?, version = ?, successors = ?
WHERE seq = ?

-- name: insert_statuses
INSERT INTO task_state (
  task, version, state, counted, failures, skips_left, last_end, last_result, paused_since, pause_cause, pause_note,
  pause_until, reason, ended
) VALUES {rows}

-- name: put_statuses
REPLACE INTO task_state (
  task, version, state, counted, failures, skips_left, last_end, last_result, paused_since, pause_cause, pause_note,
  pause_until, reason, ended
) VALUES {rows}

-- name: put_entries
REPLACE INTO agenda (
  task, slot, kind, due, planned, owner, priority, state, origin, attempt, forgiven, deaths, through, span_first,
  span_last, span_count, waited, in_order, lane, run_id, input, chain
) VALUES {rows}

-- name: drop_entries
DELETE FROM agenda WHERE (task, slot) IN (VALUES {rows})

-- name: existing_run
SELECT 1 FROM runs INDEXED BY runs_of_task WHERE task = ? AND planned = ? AND attempt = ? AND origin = ?
UNION ALL
SELECT 1 FROM runs INDEXED BY runs_stray WHERE stray = 1 AND id = ?

-- name: insert_live_runs
-- SQLite numbers runs in the order in which they are inserted. An instant before 1970 counts as stray, which is always
-- right: such a run is found by its id.
INSERT INTO runs ({row_columns}, stray)
SELECT *, column5 < 0 OR substr(column1, 1, 16) <> format('run_%012x', column5 / 1000) FROM (VALUES {rows})

-- name: insert_runs
INSERT INTO runs ({row_columns}, stray, live) SELECT *, 0 FROM (VALUES {rows})

-- name: insert_started_runs
-- Fast path for ordinary starts: columns that are not listed get their defaults.
INSERT INTO runs (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started) VALUES {rows}

-- name: insert_laned_runs
-- Fast path for starts in lanes.
INSERT INTO runs (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started, lanes) VALUES {rows}

-- name: end_runs
-- Fast path for ordinary ends: columns that are not listed stay as they are.
UPDATE runs INDEXED BY runs_live SET
  live = 0, state = ended_runs.column2, reason = ended_runs.column3, started = ended_runs.column4,
  ended = ended_runs.column5, deadline = ended_runs.column6, result = ended_runs.column7, error = ended_runs.column8
FROM (VALUES {rows}) AS ended_runs WHERE runs.live = 1 AND runs.id = ended_runs.column1

-- name: start_statuses
-- An ordinary start counts an occurrence, and changes nothing else of the status.
UPDATE task_state SET version = version + 1, counted = counted + 1 WHERE task IN carray(?)

-- name: reschedule_entries
-- An entry that an ordinary start puts again differs in its instants alone.
UPDATE agenda SET due = given.column2, planned = given.column3, state = 0
FROM (VALUES {rows}) AS given WHERE agenda.task = given.column1 AND agenda.slot = 'next'

-- name: insert_ordinary_runs
-- What the runs have in common is given once: origin, attempt, state, token, node, and the instants of claim and start.
INSERT INTO runs (origin, attempt, state, token, node, claimed, started, id, task, owner, planned, due)
SELECT ?, ?, ?, ?, ?, ?, ?, column1, column2, column3, column4, column5 FROM (VALUES {rows})

-- name: insert_start_events
INSERT INTO events (kind, at, owner, task_id, run_id) SELECT 'run.started', ?, column1, column2, column3 FROM (VALUES {rows})

-- name: end_statuses
-- The fourth column says whether the task is completed.
UPDATE task_state SET
  version = version + 1, state = CASE WHEN given.column4 THEN 'completed' ELSE state END, failures = 0,
  last_end = given.column2, last_result = given.column3, ended = CASE WHEN given.column4 THEN given.column2 ELSE ended END
FROM (VALUES {rows}) AS given WHERE task_state.task = given.column1

-- name: end_ordinary_runs
UPDATE runs INDEXED BY runs_live SET
  live = 0, state = 'succeeded', reason = NULL, started = given.column2, ended = given.column3, deadline = NULL,
  result = given.column4, error = NULL
FROM (VALUES {rows}) AS given WHERE runs.live = 1 AND runs.id = given.column1

-- name: insert_success_events
-- Two events for a task that is completed, in this order.
INSERT INTO events (kind, at, owner, task_id, run_id)
SELECT event.column1, given.column1, given.column2, given.column3, CASE WHEN event.column1 = 'run.succeeded' THEN given.column4 END
FROM (VALUES {rows}) AS given CROSS JOIN (VALUES ('run.succeeded'), ('task.completed')) AS event
WHERE event.column1 = 'run.succeeded' OR given.column5

-- name: put_live_runs
UPDATE runs INDEXED BY runs_live SET
  state = given.column8, reason = given.column9, token = given.column10, node = given.column11, claimed = given.column12,
  started = given.column13, ended = given.column14, deadline = given.column15, span_first = given.column16,
  span_last = given.column17, span_count = given.column18, forgiven = given.column19, deaths = given.column20,
  alone = given.column21, in_order = given.column22, cancel = given.column23, lanes = given.column24,
  result = given.column25, error = given.column26, input = given.column27
FROM (VALUES {rows}) AS given WHERE runs.live = 1 AND runs.id = given.column1

-- name: drop_live_runs
DELETE FROM runs INDEXED BY runs_live WHERE live = 1 AND id IN carray(?)

-- name: insert_lane_slots
INSERT INTO lane_slots (lane, run_id) VALUES {rows}

-- name: delete_lane_slots
DELETE FROM lane_slots WHERE (lane, run_id) IN (VALUES {rows})

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

-- name: delete_chain_rows
DELETE FROM chain_rows WHERE task = ?

-- name: delete_status
DELETE FROM task_state WHERE task = ?

-- name: delete_records_of_task
DELETE FROM records WHERE kind IN ('gate_state', 'task_data') AND key = (SELECT id FROM tasks WHERE seq = ?)

-- name: delete_task
DELETE FROM tasks WHERE seq = ?
