-- What a decision sees.

-- name: tasks
-- The limit keeps the planner from reading all that goes on for the few that are asked for.
SELECT
  {task_columns}, {standing_columns}, (SELECT 1 FROM @going WHERE going.task = tasks.seq LIMIT 1) IS NOT NULL,
  (SELECT count(*) FROM @agenda WHERE agenda.task = tasks.seq)
FROM @tasks JOIN @standings ON standings.task = tasks.seq WHERE tasks.seq = ANY ((SELECT $1::text::bigint[])::bigint[])

-- name: entries
SELECT {entry_columns} FROM @agenda WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[]) ORDER BY task, slot

-- name: live_runs
SELECT {run_columns} FROM @going AS run WHERE run.task = ANY ((SELECT $1::text::bigint[])::bigint[]) ORDER BY run.id

-- name: owners
-- Which of these owners have a limit (by the name of their lane), and which may not run anything.
SELECT 'lane', name, NULL::text FROM @lanes WHERE name = ANY ((SELECT $1::text::text[])::text[]) AND seats IS NOT NULL
UNION ALL
SELECT 'barred', owner, reason FROM @barred WHERE owner = ANY ((SELECT $2::text::text[])::text[])

-- name: hold_lanes
SELECT name, seats FROM @lanes WHERE name = ANY ((SELECT $1::text::text[])::text[]) ORDER BY name FOR UPDATE

-- name: make_lanes
INSERT INTO @lanes (name) SELECT unnest($1::text::text[]) ON CONFLICT DO NOTHING

-- name: seats_taken
SELECT lane, count(*) FROM @seats WHERE lane = ANY ((SELECT $1::text::text[])::text[]) GROUP BY lane

-- name: lane_use
SELECT
  name, (SELECT seats FROM @lanes WHERE lanes.name = named.name), (SELECT count(*) FROM @seats WHERE lane = named.name)
FROM unnest($1::text::text[]) AS named (name)

-- name: number_by_id
SELECT seq, owner FROM @tasks WHERE id = $1

-- name: numbers_by_id
SELECT id, seq FROM @tasks WHERE id = ANY ((SELECT $1::text::text[])::text[])

-- name: numbers_by_key
SELECT tasks.owner, tasks.key, tasks.seq
FROM unnest($1::text::text[], $2::text::text[]) AS wanted (owner, key)
JOIN @tasks ON tasks.key = wanted.key AND tasks.owner || '' = wanted.owner

-- name: seen_by_id
SELECT tasks.seq, tasks.owner, standings.version
FROM @tasks JOIN @standings ON standings.task = tasks.seq WHERE tasks.id = $1

-- name: seen_by_key
SELECT tasks.seq, tasks.owner, standings.version
FROM @tasks JOIN @standings ON standings.task = tasks.seq WHERE tasks.owner || '' = $1 AND tasks.key = $2
