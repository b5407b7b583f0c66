-- What the service asks, mostly reading.

-- name: tasks_page
-- The index is said outright: the planner would rather sort a million rows than believe a filter that may be absent.
SELECT tasks.seq, standings.version
FROM tasks INDEXED BY tasks_by_id JOIN standings ON standings.task = tasks.seq
WHERE tasks.id > :after
  AND (:states IS NULL OR standings.state IN (SELECT value FROM json_each(:states)))
  AND (:name IS NULL OR tasks.name = :name)
  AND (:lane IS NULL OR tasks.lane = :lane)
  AND NOT EXISTS (
    SELECT 1 FROM json_each(:labels) AS wanted
    WHERE NOT EXISTS (SELECT 1 FROM json_each(tasks.labels) AS label WHERE label.value = wanted.value)
  )
ORDER BY tasks.id LIMIT :limit

-- name: tasks_page_of_owner
SELECT tasks.seq, standings.version
FROM tasks INDEXED BY tasks_by_owner JOIN standings ON standings.task = tasks.seq
WHERE tasks.owner = :owner AND tasks.id > :after
  AND (:states IS NULL OR standings.state IN (SELECT value FROM json_each(:states)))
  AND (:name IS NULL OR tasks.name = :name)
  AND (:lane IS NULL OR tasks.lane = :lane)
  AND NOT EXISTS (
    SELECT 1 FROM json_each(:labels) AS wanted
    WHERE NOT EXISTS (SELECT 1 FROM json_each(tasks.labels) AS label WHERE label.value = wanted.value)
  )
ORDER BY tasks.id LIMIT :limit

-- name: run_live
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_live JOIN tasks ON tasks.seq = runs.task
WHERE runs.live = 1 AND runs.id = ?

-- name: run_stray
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_stray JOIN tasks ON tasks.seq = runs.task
WHERE runs.stray = 1 AND runs.id = ?

-- name: run_at
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_by_plan JOIN tasks ON tasks.seq = runs.task
WHERE runs.planned BETWEEN ? AND ? AND runs.id = ?

-- name: runs_page
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_by_plan JOIN tasks ON tasks.seq = runs.task
WHERE (runs.planned, runs.attempt, runs.id) < (:planned, :attempt, :id)
  AND (:owner IS NULL OR runs.owner = :owner)
  AND (:states IS NULL OR runs.state IN (SELECT value FROM json_each(:states)))
  AND (:since IS NULL OR coalesce(runs.span_last, runs.planned) >= :since)
  AND (:until IS NULL OR coalesce(runs.span_first, runs.planned) <= :until)
ORDER BY runs.planned DESC, runs.attempt DESC, runs.id DESC LIMIT :limit

-- name: runs_page_of_task
SELECT {run_columns}, tasks.id FROM tasks JOIN runs INDEXED BY runs_of_task ON runs.task = tasks.seq
WHERE tasks.id = :task_id AND (runs.planned, runs.attempt, runs.id) < (:planned, :attempt, :id)
  AND (:owner IS NULL OR runs.owner = :owner)
  AND (:states IS NULL OR runs.state IN (SELECT value FROM json_each(:states)))
  AND (:since IS NULL OR coalesce(runs.span_last, runs.planned) >= :since)
  AND (:until IS NULL OR coalesce(runs.span_first, runs.planned) <= :until)
ORDER BY runs.planned DESC, runs.attempt DESC, runs.id DESC LIMIT :limit

-- name: set_lane
REPLACE INTO lanes (name, seats) VALUES (?, ?)

-- name: bar
REPLACE INTO barred (owner, reason) VALUES (?, ?)

-- name: unbar
DELETE FROM barred WHERE owner = ?

-- name: events
SELECT number, kind, at, owner, task_id, run_id, detail FROM events WHERE number > ? ORDER BY number LIMIT ?

-- name: events_of_owner
SELECT number, kind, at, owner, task_id, run_id, detail FROM events
WHERE number > ? AND owner = ? ORDER BY number LIMIT ?

-- name: last_event
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)

-- name: recall
SELECT value FROM remembered WHERE name = ?

-- name: remember
REPLACE INTO remembered (name, value) VALUES (?, ?)
