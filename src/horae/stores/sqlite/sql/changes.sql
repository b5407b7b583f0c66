-- What a decision says, written down. The statements that end in VALUES take many rows at once.

-- name: last_task
SELECT seq FROM sqlite_sequence WHERE name = 'tasks'

-- name: insert_tasks
INSERT INTO tasks (
  seq, id, owner, name, schedule, target_kind, target_spec, payload, policies, created, key, lane, labels, version
) VALUES

-- name: update_task
UPDATE tasks SET
  id = ?, owner = ?, name = ?, schedule = ?, target_kind = ?, target_spec = ?, payload = ?, policies = ?, created = ?,
  key = ?, lane = ?, labels = ?, version = ?
WHERE seq = ?

-- name: put_standings
REPLACE INTO standings (
  task, edition, state, counted, failures, skips_left, last_end, last_result, paused_since, pause_cause, pause_note,
  pause_until, reason, ended
) VALUES

-- name: next_edition
UPDATE standings SET edition = edition + 1 WHERE task = ?

-- name: put_entries
REPLACE INTO agenda (
  task, slot, kind, due, planned, owner, priority, stand, origin, attempt, forgiven, deaths, through, span_first,
  span_last, span_count, waited, in_order, lane, run_id
) VALUES

-- name: drop_entries
DELETE FROM agenda WHERE (task, slot) IN (VALUES

-- name: drop_entries_end
)

-- name: insert_runs
INSERT INTO runs (
  id, task, owner, origin, planned, due, attempt, live, stray, state, reason, token, node, claimed, started, ended,
  deadline, span_first, span_last, span_count, forgiven, deaths, alone, in_order, cancel, lanes, result, error
) VALUES

-- name: move_run
UPDATE runs SET
  live = ?, state = ?, reason = ?, token = ?, node = ?, claimed = ?, started = ?, ended = ?, deadline = ?,
  span_first = ?, span_last = ?, span_count = ?, forgiven = ?, deaths = ?, alone = ?, in_order = ?, cancel = ?,
  lanes = ?, result = ?, error = ?
WHERE seq = ? AND live = 1

-- name: take_seats
INSERT INTO seats (lane, run_id) VALUES

-- name: leave_seat
DELETE FROM seats WHERE lane = ? AND run_id = ?

-- name: insert_events
INSERT INTO events (kind, at, owner, task_id, run_id, detail) VALUES

-- name: delete_lines
DELETE FROM lines WHERE run_id IN (SELECT id FROM runs WHERE task = ?)

-- name: delete_runs
DELETE FROM runs WHERE task = ?

-- name: delete_entries
DELETE FROM agenda WHERE task = ?

-- name: delete_standing
DELETE FROM standings WHERE task = ?

-- name: delete_task
DELETE FROM tasks WHERE seq = ?
