-- Reads of the facts on which a decision is made.

-- name: tasks
SELECT {task_columns}, {status_columns} FROM tasks JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.seq IN carray(?)

-- name: entries
SELECT {entry_columns} FROM agenda WHERE task IN carray(?) ORDER BY task, slot

-- name: live_runs
SELECT {run_columns} FROM runs WHERE seq IN carray(?) ORDER BY id

-- name: lane_use
SELECT
  value, (SELECT slot_limit FROM lanes WHERE name = value), (SELECT count(*) FROM lane_slots WHERE lane = value)
FROM carray(?)

-- name: blocked_owners
SELECT owner, reason FROM blocked_owners WHERE owner IN carray(?)

-- name: number_by_id
SELECT tasks.seq, tasks.owner, task_state.version
FROM tasks JOIN task_state ON task_state.task = tasks.seq WHERE tasks.id = ?

-- name: number_by_key
SELECT tasks.seq, tasks.owner, task_state.version
FROM tasks JOIN task_state ON task_state.task = tasks.seq WHERE tasks.owner = ? AND tasks.key = ?
