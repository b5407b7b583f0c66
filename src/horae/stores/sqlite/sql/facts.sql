-- Reads of the facts on which a decision is made.

-- name: tasks
SELECT
  {task_columns}, {status_columns},
  EXISTS (SELECT 1 FROM runs INDEXED BY runs_live_of_task WHERE runs.live = 1 AND runs.task = tasks.seq),
  (SELECT count(*) FROM agenda WHERE agenda.task = tasks.seq)
FROM tasks JOIN task_state ON task_state.task = tasks.seq WHERE tasks.seq IN carray(?)

-- name: entries
SELECT {entry_columns} FROM agenda WHERE task IN carray(?) ORDER BY task, slot

-- name: live_runs
SELECT {run_columns} FROM runs INDEXED BY runs_live_of_task WHERE live = 1 AND task IN carray(?) ORDER BY id

-- name: lane_use_and_blocks
-- Limit, occupied slots and rate of these lanes, and which of these owners are blocked, with the reason.
SELECT
  value, slot_limit, (SELECT count(*) FROM lane_slots WHERE lane = value), NULL, rate_starts, rate_period, started
FROM carray(?1) LEFT JOIN lanes ON lanes.name = value
UNION ALL
SELECT owner, NULL, NULL, reason, NULL, NULL, NULL FROM blocked_owners WHERE owner IN carray(?2)

-- name: limits_and_blocks_of_owners
-- Which of these owners have a limit (by the name of their lane), and which are blocked, with the reason.
SELECT 'lane', name, NULL FROM lanes WHERE name IN carray(?1)
UNION ALL
SELECT 'blocked_owners', owner, reason FROM blocked_owners WHERE owner IN carray(?2)

-- name: lock_lanes
-- A write transaction excludes all others; lanes without a limit need no row.
SELECT value, slot_limit, rate_starts, rate_period, started, last_start, wake_at
FROM carray(?) LEFT JOIN lanes ON lanes.name = value

-- name: lane_counts
-- Slots in use, unparked entries that have not been claimed yet, whether entries of other tasks than these are parked, the
-- owner of the last turn, and whether runs are idle.
SELECT
  value,
  (SELECT count(*) FROM lane_slots WHERE lane = value),
  (SELECT count(*) FROM agenda INDEXED BY agenda_unparked WHERE lane = value AND lane IS NOT NULL AND state < 2),
  EXISTS (SELECT 1 FROM agenda INDEXED BY agenda_parked WHERE state = 3 AND lane = value AND task NOT IN carray(?2)),
  (SELECT owner FROM lane_turns WHERE lane = value),
  EXISTS (SELECT 1 FROM records WHERE records.kind = 'idle_runs' AND records.key = value)
FROM carray(?1)

-- name: number_by_id
SELECT seq, owner FROM tasks WHERE id = ?

-- name: numbers_by_id
-- Lists are JSON texts here: tasks are added on connections of other programs too, which have no arrays.
SELECT id, seq FROM tasks WHERE id IN (SELECT value FROM json_each(?))

-- name: numbers_by_key
SELECT tasks.owner, tasks.key, tasks.seq FROM json_each(?1) AS owners
CROSS JOIN tasks ON tasks.owner = owners.value AND tasks.key = json_extract(?2, '$[' || owners.key || ']')

-- name: task_version_by_id
SELECT tasks.seq, tasks.owner, task_state.version
FROM tasks JOIN task_state ON task_state.task = tasks.seq WHERE tasks.id = ?

-- name: task_version_by_key
SELECT tasks.seq, tasks.owner, task_state.version
FROM tasks JOIN task_state ON task_state.task = tasks.seq WHERE tasks.owner = ? AND tasks.key = ?
