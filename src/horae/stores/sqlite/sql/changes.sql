-- What a decision says, written down. Those with {rows} take many of them at once.

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

-- name: put_standings
REPLACE INTO standings (
  task, version, state, counted, failures, skips_left, last_end, last_result, paused_since, pause_cause, pause_note,
  pause_until, reason, ended, live
) VALUES {rows}

-- name: next_version
UPDATE standings SET version = version + 1 WHERE task = ?

-- name: put_entries
REPLACE INTO agenda (
  task, slot, kind, due, planned, owner, priority, stand, origin, attempt, forgiven, deaths, through, span_first,
  span_last, span_count, waited, in_order, lane, run_id
) VALUES {rows}

-- name: drop_entries
DELETE FROM agenda WHERE (task, slot) IN (VALUES {rows})

-- name: last_run
SELECT coalesce(max(seq), 0) FROM runs

-- name: made
SELECT 1 FROM runs INDEXED BY runs_of_task WHERE task = ? AND planned = ? AND attempt = ? AND origin = ?
UNION ALL
SELECT 1 FROM runs INDEXED BY runs_stray WHERE stray = 1 AND id = ?

-- name: insert_runs
INSERT INTO runs (
  seq, id, task, owner, origin, planned, due, attempt, live, stray, state, reason, token, node, claimed, started, ended,
  deadline, span_first, span_last, span_count, forgiven, deaths, alone, in_order, cancel, lanes, result, error
) VALUES {rows}

-- name: insert_started_runs
-- As nearly all of them begin: what is not named here has its default.
INSERT INTO runs (
  seq, id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started
) VALUES {rows}

-- name: end_runs
-- As nearly all of them end: what is not named here stays as it was.
UPDATE runs SET
  live = 0, state = ended.column2, reason = ended.column3, started = ended.column4, ended = ended.column5,
  deadline = ended.column6, result = ended.column7, error = ended.column8
FROM (VALUES {rows}) AS ended WHERE runs.seq = ended.column1

-- name: move_run
UPDATE runs SET
  live = ?, state = ?, reason = ?, token = ?, node = ?, claimed = ?, started = ?, ended = ?, deadline = ?,
  span_first = ?, span_last = ?, span_count = ?, forgiven = ?, deaths = ?, alone = ?, in_order = ?, cancel = ?,
  lanes = ?, result = ?, error = ?
WHERE seq = ?

-- name: take_seats
INSERT INTO seats (lane, run_id) VALUES {rows}

-- name: leave_seat
DELETE FROM seats WHERE lane = ? AND run_id = ?

-- name: insert_events
INSERT INTO events (kind, at, owner, task_id, run_id, detail) VALUES {rows}

-- name: put_tallies
INSERT INTO tallies (owner, hour, name, number) VALUES {rows}
ON CONFLICT DO UPDATE SET number = number + excluded.number

-- name: drop_tallies
DELETE FROM tallies WHERE hour BETWEEN 1 AND ?

-- name: delete_lines
DELETE FROM lines WHERE run_id IN (SELECT id FROM runs WHERE task = ?)

-- name: delete_runs
DELETE FROM runs WHERE task = ?

-- name: empty_agendas
DELETE FROM agenda WHERE task IN carray(?)

-- name: delete_standing
DELETE FROM standings WHERE task = ?

-- name: delete_task
DELETE FROM tasks WHERE seq = ?
