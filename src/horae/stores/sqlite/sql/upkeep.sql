-- What the janitor and an operator need.

-- name: old_tasks
SELECT
  tasks.seq, tasks.id,
  standings.state IN ('completed', 'failed', 'cancelled') AND standings.ended IS NOT NULL AND standings.ended < :before
  AND standings.live IS NULL AND NOT EXISTS (SELECT 1 FROM agenda WHERE agenda.task = tasks.seq)
FROM tasks INDEXED BY tasks_by_id JOIN standings ON standings.task = tasks.seq
WHERE tasks.id > :after ORDER BY tasks.id LIMIT :limit

-- name: still_over
-- Without a run as well: one that has ended since it was looked at is not to be forgotten yet.
SELECT task FROM standings
WHERE task IN carray(?) AND state IN ('completed', 'failed', 'cancelled') AND ended < ?
  AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.task = standings.task)
  AND NOT EXISTS (SELECT 1 FROM agenda WHERE agenda.task = standings.task)

-- name: old_runs
-- The oldest first, of those that ended before the instant or are not among the newest.
SELECT seq, id FROM (
  SELECT seq, id, planned, attempt, ended, row_number() OVER (ORDER BY planned DESC, attempt DESC, id DESC) AS place
  FROM runs INDEXED BY runs_of_task WHERE task = :task AND live = 0
)
WHERE :everything OR place > :keep OR (ended IS NOT NULL AND ended < :before)
ORDER BY planned, attempt, id LIMIT :limit

-- name: drop_run
DELETE FROM runs WHERE seq = ? AND id = ? AND live = 0

-- name: drop_lines
DELETE FROM lines WHERE run_id IN carray(?)

-- name: old_events
-- From the oldest on, up to the first one that is to stay.
WITH oldest AS MATERIALIZED (SELECT number, at FROM events ORDER BY number LIMIT :limit)
SELECT max(number), count(*) FROM oldest
WHERE number < coalesce((SELECT min(number) FROM oldest WHERE at >= :before), 9223372036854775807)

-- name: drop_events
DELETE FROM events WHERE number <= ?

-- name: integrity
PRAGMA integrity_check

-- name: orphan_entries
SELECT slot, task FROM agenda WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.seq = agenda.task)

-- name: orphan_runs
SELECT id, task FROM runs WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.seq = runs.task)

-- name: tasks_without_standing
SELECT id FROM tasks WHERE NOT EXISTS (SELECT 1 FROM standings WHERE standings.task = tasks.seq)

-- name: wrong_seats
SELECT lane, sum(taken), sum(sitting) FROM (
  SELECT lane, count(*) AS taken, 0 AS sitting FROM seats GROUP BY lane
  UNION ALL
  SELECT lane.value, 0, count(DISTINCT runs.id) FROM runs, json_each(runs.lanes) AS lane
  WHERE runs.live = 1 AND runs.lanes IS NOT NULL GROUP BY lane.value
) GROUP BY lane HAVING sum(taken) <> sum(sitting) ORDER BY lane

-- name: forgotten_tasks
SELECT tasks.id FROM tasks JOIN standings ON standings.task = tasks.seq
WHERE standings.state = 'active' AND standings.live IS NULL
  AND NOT EXISTS (SELECT 1 FROM agenda WHERE agenda.task = tasks.seq)
ORDER BY tasks.id

-- name: miscounted_tasks
WITH going (task, numbers) AS (
  SELECT task, group_concat(seq, ',' ORDER BY id) FROM runs INDEXED BY runs_live WHERE live = 1 GROUP BY task
)
SELECT tasks.id FROM tasks JOIN standings ON standings.task = tasks.seq LEFT JOIN going ON going.task = tasks.seq
WHERE standings.live IS NOT going.numbers
ORDER BY tasks.id
