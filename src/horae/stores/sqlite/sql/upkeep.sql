-- What the janitor and an operator need.

-- name: old
-- One statement, because an idle node asks for nothing else. A run that is too old was planned before that as well, and
-- runs are in the order of their plans; events go from the oldest on, up to the first one that is to stay.
SELECT
  (
    SELECT json_group_array(json_array(seq, id)) FROM (
      SELECT seq, id FROM runs INDEXED BY runs_by_plan
      WHERE planned < :before AND live = 0 AND ended < :before ORDER BY planned LIMIT :limit
    )
  ),
  (
    SELECT json_group_array(task) FROM (
      SELECT task FROM standings INDEXED BY standings_over
      WHERE ended < :before AND state IN ('completed', 'failed', 'cancelled') AND live IS NULL
        AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.task = standings.task)
        AND NOT EXISTS (SELECT 1 FROM agenda WHERE agenda.task = standings.task)
      ORDER BY ended LIMIT :limit
    )
  ),
  (
    WITH oldest AS MATERIALIZED (SELECT number, at FROM events ORDER BY number LIMIT :limit)
    SELECT json_group_array(number ORDER BY number) FROM oldest
    WHERE number < coalesce((SELECT min(number) FROM oldest WHERE at >= :before), 9223372036854775807)
  ),
  coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)

-- name: crowded
SELECT task FROM runs INDEXED BY runs_of_task WHERE task > :after
GROUP BY task HAVING count(*) > :keep ORDER BY task LIMIT :limit

-- name: recent
-- Up to which event the next so many tell of runs.
SELECT coalesce(
  (SELECT number FROM events WHERE number > :told AND run_id IS NOT NULL ORDER BY number LIMIT 1 OFFSET :most - 1), :last
)

-- name: crowded_of_late
SELECT task FROM runs INDEXED BY runs_of_task WHERE task IN (
  SELECT tasks.seq FROM events JOIN tasks ON tasks.id = events.task_id
  WHERE events.number > :told AND events.number <= :until AND events.run_id IS NOT NULL
)
GROUP BY task HAVING count(*) > :keep ORDER BY task

-- name: still_over
-- Without a run as well: one that has ended since it was looked at is not to be forgotten yet.
SELECT task, state, (SELECT owner FROM tasks WHERE tasks.seq = standings.task) FROM standings
WHERE task IN carray(?) AND state IN ('completed', 'failed', 'cancelled') AND ended < ?
  AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.task = standings.task)
  AND NOT EXISTS (SELECT 1 FROM agenda WHERE agenda.task = standings.task)

-- name: surplus
-- The oldest of those that have ended and are not among the newest.
-- How many those are is counted in the index, so that a task that is far behind costs no more than one that is not.
SELECT seq, id FROM runs INDEXED BY runs_of_task WHERE task = :task AND live = 0 ORDER BY planned, attempt, id
LIMIT max(0, min(:limit,
  (SELECT count(*) FROM runs INDEXED BY runs_of_task WHERE task = :task)
  - (SELECT count(*) FROM runs INDEXED BY runs_live WHERE live = 1 AND task = :task)
  - :keep
))

-- name: drop_run
DELETE FROM runs WHERE seq = ? AND id = ? AND live = 0

-- name: drop_lines
DELETE FROM lines WHERE run_id IN carray(?)

-- name: count_removed_events
-- Retention keeps how many events of an owner it has removed: the number that an owner sees counts them too.
INSERT INTO records (kind, key, owner, body, version)
SELECT 'removed_events', owner, owner, CAST(count(*) AS TEXT), 1 FROM events WHERE number <= ? GROUP BY owner
ON CONFLICT (kind, key) DO UPDATE
SET body = CAST(CAST(body AS INTEGER) + CAST(excluded.body AS INTEGER) AS TEXT), version = version + 1

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

-- name: mislabelled_tasks
SELECT coalesce(tasks.id, 'number ' || told.task) FROM (
  SELECT label, task, owner, 1 AS way FROM labels
  UNION ALL
  SELECT DISTINCT label.value, tasks.seq, tasks.owner, -1 FROM tasks, json_each(tasks.labels) AS label
) AS told LEFT JOIN tasks ON tasks.seq = told.task
GROUP BY told.task, told.label, told.owner HAVING sum(way) <> 0 ORDER BY told.task

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

-- name: miscounted_states
SELECT owner, name, sum(counted), sum(found) FROM (
  SELECT owner, name, number AS counted, 0 AS found FROM tallies WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT tasks.owner, 'state:' || standings.state, 0, count(*)
  FROM tasks JOIN standings ON standings.task = tasks.seq GROUP BY tasks.owner, standings.state
  UNION ALL
  SELECT '', 'state:' || state, 0, count(*) FROM standings GROUP BY state
) GROUP BY owner, name HAVING sum(counted) <> sum(found) ORDER BY owner, name
