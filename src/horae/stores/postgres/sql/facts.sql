-- Reads of the facts on which a decision is made.

-- name: tasks
-- The LIMIT keeps the planner from reading all live runs for a few tasks.
SELECT
  {task_columns}, {status_columns}, (SELECT 1 FROM @live_runs WHERE live_runs.task = tasks.seq LIMIT 1) IS NOT NULL,
  (SELECT count(*) FROM @agenda WHERE agenda.task = tasks.seq)
FROM @tasks JOIN @task_state ON task_state.task = tasks.seq WHERE tasks.seq = ANY ((SELECT $1::text::bigint[])::bigint[])

-- name: entries
SELECT {entry_columns} FROM @agenda WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[]) ORDER BY task, slot

-- name: live_runs
SELECT {run_columns} FROM @live_runs AS run WHERE run.task = ANY ((SELECT $1::text::bigint[])::bigint[]) ORDER BY run.id

-- name: limits_and_blocks_of_owners
-- Which of these owners have a limit (by the name of their lane), and which are blocked, with the reason.
SELECT 'lane', name, NULL::text FROM @lanes WHERE name = ANY ((SELECT $1::text::text[])::text[]) AND slot_limit IS NOT NULL
UNION ALL
SELECT 'blocked_owners', owner, reason FROM @blocked_owners WHERE owner = ANY ((SELECT $2::text::text[])::text[])

-- name: lock_lanes
SELECT name, slot_limit, rate_starts, rate_period, started, last_start, wake_at
FROM @lanes WHERE name = ANY ((SELECT $1::text::text[])::text[]) ORDER BY name FOR UPDATE

-- name: insert_lanes
INSERT INTO @lanes (name) SELECT unnest($1::text::text[]) ON CONFLICT DO NOTHING

-- name: lane_counts
-- Slots in use, unparked entries that have not been claimed yet, whether entries of other tasks than these are parked, the
-- owner of the last turn, and whether runs are idle.
SELECT
  given.name,
  (SELECT count(*) FROM @lane_slots WHERE lane = given.name),
  (SELECT count(*) FROM @agenda WHERE agenda.lane = given.name AND agenda.state < 2),
  EXISTS (
    SELECT 1 FROM @agenda
    WHERE agenda.state = 3 AND agenda.lane = given.name AND agenda.task <> ALL ((SELECT $2::text::bigint[])::bigint[])
  ),
  (SELECT owner FROM @lane_turns WHERE lane_turns.lane = given.name),
  EXISTS (SELECT 1 FROM @records WHERE records.kind = 'idle_runs' AND records.key = given.name)
FROM unnest($1::text::text[]) AS given (name)

-- name: lane_use_and_blocks
-- Limit, occupied slots and rate of these lanes, and which of these owners are blocked, with the reason.
SELECT
  given.name, slot_limit, (SELECT count(*) FROM @lane_slots WHERE lane = given.name), NULL::text, rate_starts, rate_period,
  started
FROM unnest($1::text::text[]) AS given (name) LEFT JOIN @lanes ON lanes.name = given.name
UNION ALL
SELECT owner, NULL, NULL, reason, NULL, NULL, NULL FROM @blocked_owners WHERE owner = ANY ((SELECT $2::text::text[])::text[])

-- name: number_by_id
SELECT seq, owner FROM @tasks WHERE id = $1

-- name: numbers_by_id
SELECT id, seq FROM @tasks WHERE id = ANY ((SELECT $1::text::text[])::text[])

-- name: numbers_by_key
SELECT tasks.owner, tasks.key, tasks.seq
FROM unnest($1::text::text[], $2::text::text[]) AS given (owner, key)
JOIN @tasks ON tasks.key = given.key AND tasks.owner || '' = given.owner

-- name: task_version_by_id
SELECT tasks.seq, tasks.owner, task_state.version
FROM @tasks JOIN @task_state ON task_state.task = tasks.seq WHERE tasks.id = $1

-- name: task_version_by_key
SELECT tasks.seq, tasks.owner, task_state.version
FROM @tasks JOIN @task_state ON task_state.task = tasks.seq WHERE tasks.owner || '' = $1 AND tasks.key = $2
