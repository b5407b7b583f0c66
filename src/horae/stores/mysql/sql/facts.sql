-- Reads of the facts on which a decision is made.

-- name: tasks
SELECT
  {task_columns}, {status_columns}, EXISTS (SELECT 1 FROM @live_runs AS live WHERE live.task = tasks.seq),
  (SELECT count(*) FROM @agenda AS task_entries WHERE task_entries.task = tasks.seq)
FROM @tasks AS tasks JOIN @task_state AS task_state ON task_state.task = tasks.seq WHERE tasks.seq IN ($1)

-- name: entries
SELECT {entry_columns} FROM @agenda AS agenda WHERE agenda.task IN ($1) ORDER BY agenda.task, agenda.slot

-- name: live_runs
SELECT {run_columns} FROM @live_runs AS run WHERE run.task IN ($1) ORDER BY run.id

-- name: limits_and_blocks_of_owners
-- Which of these owners have a limit (by the name of their lane), and which are blocked, with the reason.
SELECT 'lane', name, NULL FROM @lanes WHERE name IN ($1) AND slot_limit IS NOT NULL
UNION ALL
SELECT 'blocked_owners', owner, reason FROM @blocked_owners WHERE owner IN ($2)

-- name: lock_lanes
SELECT name, slot_limit, rate_starts, rate_period, started, last_start, wake_at
FROM @lanes FORCE INDEX (PRIMARY) WHERE name IN ($1) ORDER BY name FOR UPDATE

-- name: insert_lanes
INSERT INTO @lanes (name) VALUES $1() ON DUPLICATE KEY UPDATE name = VALUES(name)

-- name: lane_counts
-- Slots in use, unparked entries that have not been claimed yet, whether entries of other tasks than these are parked, the
-- owner of the last turn, and whether runs are idle.
SELECT
  given.name,
  (SELECT COUNT(*) FROM @lane_slots AS lane_slots WHERE lane_slots.lane = given.name),
  (SELECT COUNT(*) FROM @agenda AS agenda WHERE agenda.lane = given.name AND agenda.state < 2),
  EXISTS (
    SELECT 1 FROM @agenda AS agenda
    WHERE agenda.lane = given.name AND agenda.state = 3 AND COALESCE(agenda.task NOT IN ($2), TRUE)
  ),
  (SELECT owner FROM @lane_turns AS lane_turns WHERE lane_turns.lane = given.name),
  EXISTS (SELECT 1 FROM @records AS records WHERE records.kind = 'idle_runs' AND records.record_key = given.name)
FROM ([[ SELECT $each AS name ]]) AS given

-- name: lane_use_and_blocks
-- Limit, occupied slots and rate of these lanes, and which of these owners are blocked, with the reason.
SELECT given.name, lanes.slot_limit, (SELECT COUNT(*) FROM @lane_slots AS lane_slots WHERE lane_slots.lane = given.name),
  NULL, lanes.rate_starts, lanes.rate_period, lanes.started
FROM ([[ SELECT $each AS name ]]) AS given LEFT JOIN @lanes AS lanes ON lanes.name = given.name
UNION ALL
SELECT owner, NULL, NULL, reason, NULL, NULL, NULL FROM @blocked_owners WHERE owner IN ($2)

-- name: number_by_id
SELECT seq, owner FROM @tasks WHERE id = $1

-- name: numbers_by_id
SELECT id, seq FROM @tasks WHERE id IN ($1)

-- name: numbers_by_key
SELECT owner, natural_key, seq FROM @tasks
WHERE owner IN ($1) AND natural_key IN ($2) AND (owner, natural_key) IN ($1+2)

-- name: task_version_by_id
SELECT tasks.seq, tasks.owner, task_state.version
FROM @tasks AS tasks JOIN @task_state AS task_state ON task_state.task = tasks.seq WHERE tasks.id = $1

-- name: task_version_by_key
SELECT tasks.seq, tasks.owner, task_state.version
FROM @tasks AS tasks JOIN @task_state AS task_state ON task_state.task = tasks.seq
WHERE tasks.owner = $1 AND tasks.natural_key = $2
