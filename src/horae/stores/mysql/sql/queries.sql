-- Queries of the service: tasks, runs, lanes, nodes, events and metadata.

-- name: tasks_page
-- also: tasks_page_of_owner, tasks_page_of_name, tasks_page_of_prefix, tasks_page_of_kind, tasks_page_of_text
SELECT tasks.seq, task_state.version FROM @tasks AS tasks JOIN @task_state AS task_state ON task_state.task = tasks.seq
WHERE {task_filter} ORDER BY tasks.seq LIMIT $2

-- name: tasks_page_of_system
-- System tasks are few: the range of their owners is read and sorted.
SELECT tasks.seq, task_state.version
FROM @tasks AS tasks FORCE INDEX (tasks_by_owner) JOIN @task_state AS task_state ON task_state.task = tasks.seq
WHERE tasks.owner >= 'horae:' AND tasks.owner < 'horae;' AND {task_filter} ORDER BY tasks.seq LIMIT $2

-- name: tasks_of_kind
-- A count up to a bound.
SELECT COUNT(*) FROM (SELECT 1 FROM @tasks WHERE target_kind = $1 LIMIT $2) AS tasks

-- name: tasks_page_paused_or_failed
-- also: tasks_page_completed_or_cancelled
SELECT tasks.seq, task_state.version
FROM @task_state AS task_state STRAIGHT_JOIN @tasks AS tasks ON tasks.seq = task_state.task
WHERE task_state.inactive_state = $11 AND task_state.task > $1 AND {task_filter}
ORDER BY task_state.task LIMIT $2

-- name: tasks_page_failing
SELECT tasks.seq, task_state.version
FROM @task_state AS task_state STRAIGHT_JOIN @tasks AS tasks ON tasks.seq = task_state.task
WHERE task_state.failing = 1 AND task_state.task > $1 AND {task_filter}
ORDER BY task_state.task LIMIT $2

-- name: tasks_page_failing_of_owner
-- For an owner with few tasks: those of others that fail may be many.
SELECT tasks.seq, task_state.version
FROM @tasks AS tasks STRAIGHT_JOIN @task_state AS task_state ON task_state.task = tasks.seq
WHERE tasks.owner = $4 AND task_state.failing = 1 AND {task_filter}
ORDER BY tasks.seq LIMIT $2

-- name: tasks_page_of_cause
SELECT tasks.seq, task_state.version
FROM @task_state AS task_state STRAIGHT_JOIN @tasks AS tasks ON tasks.seq = task_state.task
WHERE task_state.state = 'paused' AND task_state.pause_cause = $11 AND task_state.task > $1 AND {task_filter}
ORDER BY task_state.task LIMIT $2

-- name: tasks_page_of_cause_and_owner
-- For an owner with few tasks: those of others that are paused for this cause may be many.
SELECT tasks.seq, task_state.version
FROM @tasks AS tasks STRAIGHT_JOIN @task_state AS task_state ON task_state.task = tasks.seq
WHERE tasks.owner = $4 AND task_state.state = 'paused' AND task_state.pause_cause = $11 AND {task_filter}
ORDER BY tasks.seq LIMIT $2

-- name: tasks_page_of_lane
SELECT tasks.seq, task_state.version FROM @tasks AS tasks JOIN @task_state AS task_state ON task_state.task = tasks.seq
WHERE tasks.lane = $6 AND {task_filter} ORDER BY tasks.seq LIMIT $2

-- name: tasks_page_of_further_lane
SELECT labelled.task, task_state.version
FROM @labels AS labelled STRAIGHT_JOIN @tasks AS tasks ON tasks.seq = labelled.task
STRAIGHT_JOIN @task_state AS task_state ON task_state.task = labelled.task
WHERE labelled.label = CONCAT('lane:', $6) AND labelled.task > $1 AND {task_filter}
ORDER BY labelled.task LIMIT $2

-- name: tasks_page_of_label
-- also: tasks_page_of_label_and_owner
SELECT labelled.task, task_state.version
FROM @labels AS labelled STRAIGHT_JOIN @tasks AS tasks ON tasks.seq = labelled.task
STRAIGHT_JOIN @task_state AS task_state ON task_state.task = labelled.task
WHERE labelled.label = $11 AND labelled.task > $1 AND {scope_filter labelled.owner 4} AND {task_filter}
ORDER BY labelled.task LIMIT $2

-- name: tasks_with_label
-- also: tasks_with_label_and_owner
-- A count up to a bound.
SELECT COUNT(*) FROM (
  SELECT 1 FROM @labels WHERE label = $1 AND {scope_filter owner 2} LIMIT $3
) AS labelled

-- name: tasks_of_owner_and_in_states
SELECT
  (
    SELECT CAST(COALESCE(SUM(number), 0) AS SIGNED) FROM (
      SELECT number FROM @counters WHERE hour = 0 AND owner = $1 AND name LIKE 'state:%'
      UNION ALL
      SELECT number FROM @counter_deltas WHERE hour = 0 AND owner = $1 AND name LIKE 'state:%'
    ) AS of_owner
  ),
  (
    SELECT CAST(COALESCE(SUM(number), 0) AS SIGNED) FROM (
      SELECT number FROM @counters WHERE hour = 0 AND owner = '' AND name IN ($2)
      UNION ALL
      SELECT number FROM @counter_deltas WHERE hour = 0 AND name IN ($2)
    ) AS of_all_owners
  )

-- name: upcoming
SELECT agenda.task, task_state.version, agenda.due
FROM (
  (
    SELECT task, slot, due FROM @agenda WHERE state = 0 AND {scope_filter owner 1} ORDER BY due, task, slot LIMIT $2
  )
  UNION ALL
  (
    SELECT task, slot, due FROM @agenda WHERE state = 1 AND {scope_filter owner 1} ORDER BY due, task, slot LIMIT $2
  )
  UNION ALL
  (
    SELECT task, slot, due FROM @agenda WHERE state = 5 AND {scope_filter owner 1} ORDER BY due, task, slot LIMIT $2
  )
) AS agenda
JOIN @task_state AS task_state ON task_state.task = agenda.task
ORDER BY agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: upcoming_of_owner
-- Reads the owner's tasks first: other owners may have a million entries before this owner's first.
SELECT agenda.task, task_state.version, agenda.due
FROM @tasks AS tasks STRAIGHT_JOIN @agenda AS agenda ON agenda.task = tasks.seq
STRAIGHT_JOIN @task_state AS task_state ON task_state.task = tasks.seq
WHERE tasks.owner = $1 AND agenda.state IN (0, 1, 5) ORDER BY agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: tasks_of_owner_and_all
SELECT
  (
    SELECT CAST(COALESCE(SUM(number), 0) AS SIGNED) FROM (
      SELECT number FROM @counters WHERE hour = 0 AND owner = $1 AND name LIKE 'state:%'
      UNION ALL
      SELECT number FROM @counter_deltas WHERE hour = 0 AND owner = $1 AND name LIKE 'state:%'
    ) AS of_owner
  ),
  (
    SELECT CAST(COALESCE(SUM(number), 0) AS SIGNED) FROM (
      SELECT number FROM @counters WHERE hour = 0 AND owner = '' AND name LIKE 'state:%'
      UNION ALL
      SELECT number FROM @counter_deltas WHERE hour = 0 AND name LIKE 'state:%'
    ) AS of_all_owners
  )

-- name: latest
-- All runs at the last planned instant of each task; the caller picks the newest.
SELECT {run_columns}, tasks.id
FROM @tasks AS tasks STRAIGHT_JOIN @runs AS run ON run.task = tasks.seq AND run.planned = (
  SELECT newest.planned FROM @runs AS newest WHERE newest.task = tasks.seq
  ORDER BY newest.planned DESC, newest.attempt DESC, newest.origin DESC LIMIT 1
)
WHERE tasks.id IN ($1)
UNION ALL
SELECT {run_columns}, tasks.id
FROM @tasks AS tasks STRAIGHT_JOIN @live_runs AS run ON run.task = tasks.seq
WHERE tasks.id IN ($1)

-- name: latest_outcomes
-- In the order of the primary key, so that each query stops at its limit.
[[ (
  SELECT {run_outcome_columns}, tasks.id
  FROM @tasks AS tasks STRAIGHT_JOIN @runs AS run ON run.task = tasks.seq
  WHERE tasks.id = $each AND run.planned >= $3
  ORDER BY run.task DESC, run.planned DESC, run.attempt DESC, run.origin DESC LIMIT $2
) ]]
UNION ALL
[[ (
  SELECT {run_outcome_columns}, tasks.id
  FROM @tasks AS tasks STRAIGHT_JOIN @live_runs AS run ON run.task = tasks.seq
  WHERE tasks.id = $each AND run.planned >= $3
) ]]

-- name: counts
-- Hours beyond the retention may still be stored; they are left out.
SELECT hour, name, CAST(SUM(number) AS SIGNED) FROM (
  SELECT hour, name, number FROM @counters WHERE hour IN ($1) AND owner = $2
  UNION ALL
  SELECT hour, name, number FROM @counter_deltas WHERE hour IN ($1) AND (owner = $2 OR {total_owner_columns} = $2)
) AS summed_and_pending
WHERE hour = 0 OR hour > LEAST(
  $3, GREATEST(COALESCE((SELECT MAX(hour) FROM @counters), 0), COALESCE((SELECT MAX(hour) FROM @counter_deltas), 0))
) - CASE WHEN name LIKE 'run:%' THEN $5 ELSE $4 END
GROUP BY hour, name HAVING SUM(number) <> 0

-- name: output_bytes
SELECT CAST(COALESCE(SUM(size), 0) AS SIGNED) FROM (
  SELECT
    COALESCE(OCTET_LENGTH(run.result), 0) + COALESCE(OCTET_LENGTH(run.error), 0) + COALESCE(OCTET_LENGTH(run.input), 0)
      + COALESCE((SELECT SUM(OCTET_LENGTH(line.text)) FROM @lines AS line WHERE line.run_id = run.id), 0) AS size
  FROM @tasks AS tasks STRAIGHT_JOIN @runs AS run ON run.task = tasks.seq
  WHERE tasks.owner = $1
  UNION ALL
  SELECT
    COALESCE(OCTET_LENGTH(run.result), 0) + COALESCE(OCTET_LENGTH(run.error), 0) + COALESCE(OCTET_LENGTH(run.input), 0)
      + COALESCE((SELECT SUM(OCTET_LENGTH(line.text)) FROM @lines AS line WHERE line.run_id = run.id), 0) AS size
  FROM @tasks AS tasks STRAIGHT_JOIN @live_runs AS run ON run.task = tasks.seq
  WHERE tasks.owner = $1
) AS sizes

-- name: waiting
SELECT
  (SELECT COUNT(*) FROM (
    SELECT 1 FROM @agenda WHERE state = 0 AND due <= $2 AND {scope_filter owner 1} LIMIT $3) AS timed),
  (SELECT COUNT(*) FROM (
    SELECT 1 FROM @agenda WHERE state = 1 AND due <= $2 AND {scope_filter owner 1} LIMIT $3) AS ready),
  (SELECT COUNT(*) FROM (
    SELECT 1 FROM @agenda WHERE state = 3 AND {scope_filter owner 1}
      AND NOT (queue >= 'function:' AND queue < 'function;' OR queue >= 'target:' AND queue < 'target;') LIMIT $3) AS parked),
  (SELECT COUNT(*) FROM (
    SELECT 1 FROM @agenda WHERE state = 3 AND {scope_filter owner 1}
      AND (queue >= 'function:' AND queue < 'function;' OR queue >= 'target:' AND queue < 'target;') LIMIT $3) AS stranded),
  (SELECT COUNT(*) FROM (
    SELECT 1 FROM @agenda WHERE state = 5 AND due <= $2 AND {scope_filter owner 1} LIMIT $3) AS queued)

-- name: tasks_due_in_route_queues
SELECT DISTINCT agenda.task, task_state.version
FROM @agenda AS agenda JOIN @task_state AS task_state ON task_state.task = agenda.task
WHERE agenda.state = 5 AND agenda.due <= $1 AND {scope_filter agenda.owner 2}
ORDER BY agenda.task LIMIT $3

-- name: tasks_parked_at_route
SELECT DISTINCT agenda.task, task_state.version
FROM @agenda AS agenda JOIN @task_state AS task_state ON task_state.task = agenda.task
WHERE agenda.state = 3 AND agenda.queue >= $1 AND agenda.queue < $2 AND {scope_filter agenda.owner 3}
ORDER BY agenda.task LIMIT $4

-- name: all_lanes
SELECT lane_uses.name, lane_uses.slot_limit, lane_uses.taken, lane_uses.rate_starts, lane_uses.rate_period, lane_uses.started
FROM (
  SELECT
    lane_names.name, lanes.slot_limit, lanes.rate_starts, lanes.rate_period, lanes.started,
    (SELECT COUNT(*) FROM @lane_slots AS lane_slots WHERE lane_slots.lane = lane_names.name) AS taken
  FROM (SELECT name FROM @lanes UNION SELECT lane FROM @lane_slots) AS lane_names
  LEFT JOIN @lanes AS lanes ON lanes.name = lane_names.name
) AS lane_uses
WHERE lane_uses.slot_limit IS NOT NULL OR lane_uses.taken > 0 ORDER BY lane_uses.name

-- name: lane_queues
SELECT queue, COUNT(*), MIN(due) FROM @agenda WHERE state = 3 GROUP BY queue ORDER BY queue

-- name: tasks_parked_in_lane
SELECT agenda.task, task_state.version
FROM @agenda AS agenda JOIN @task_state AS task_state ON task_state.task = agenda.task
WHERE agenda.state = 3 AND agenda.queue = $1 ORDER BY agenda.urgency, agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: lane_line
SELECT tasks.id, agenda.slot, agenda.owner, agenda.priority, agenda.due, agenda.waited
FROM @agenda AS agenda JOIN @tasks AS tasks ON tasks.seq = agenda.task
WHERE agenda.state = 3 AND agenda.queue = $1 ORDER BY agenda.urgency, agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: lane_turn
SELECT owner FROM @lane_turns WHERE lane = $1

-- name: lane_runs
SELECT {run_columns}, tasks.id
FROM @lane_slots AS lane_slots JOIN @live_runs AS run ON run.id = lane_slots.run_id
JOIN @tasks AS tasks ON tasks.seq = run.task
WHERE lane_slots.lane = $1 ORDER BY lane_slots.run_id LIMIT $2

-- name: all_nodes
SELECT {node_columns} FROM @nodes ORDER BY id

-- name: live_run
SELECT {run_columns}, tasks.id FROM @live_runs AS run JOIN @tasks AS tasks ON tasks.seq = run.task WHERE run.id = $1

-- name: ended_run
SELECT {run_columns}, tasks.id FROM @runs AS run JOIN @tasks AS tasks ON tasks.seq = run.task WHERE run.stray_id = $1
UNION ALL
SELECT {run_columns}, tasks.id FROM @runs AS run JOIN @tasks AS tasks ON tasks.seq = run.task
WHERE run.planned BETWEEN $2 AND $3 AND run.id = $1 AND run.stray = 0

-- name: task_ids
SELECT tasks.id FROM @tasks AS tasks
WHERE tasks.id >= $1 AND tasks.id < CONCAT($1, '~') AND {reader_filter tasks.owner 2} ORDER BY tasks.id LIMIT $3

-- name: task_names
SELECT tasks.id, tasks.name FROM @tasks AS tasks WHERE tasks.id IN ($1) AND {reader_filter tasks.owner 2}

-- name: live_run_ids
SELECT run.id FROM @live_runs AS run
WHERE run.id >= $1 AND run.id < CONCAT($1, '~') AND {reader_filter run.owner 2} ORDER BY run.id LIMIT $3

-- name: ended_run_ids
(
  SELECT run.id FROM @runs AS run
  WHERE run.stray_id >= $1 AND run.stray_id < CONCAT($1, '~') AND {reader_filter run.owner 2} LIMIT $3
)
UNION ALL
(
  SELECT run.id FROM @runs AS run
  WHERE run.planned BETWEEN $4 AND $5 AND run.stray = 0 AND run.id >= $1 AND run.id < CONCAT($1, '~')
    AND {reader_filter run.owner 2}
  LIMIT $3
)

-- name: runs_page
SELECT {run_columns}, tasks.id FROM @runs AS run STRAIGHT_JOIN @tasks AS tasks ON tasks.seq = run.task
WHERE {run_filter} AND run.planned <= $1 AND (NOT $7? OR run.planned >= $7)
ORDER BY run.planned DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: runs_page_of_task
SELECT {run_columns}, tasks.id FROM @tasks AS tasks STRAIGHT_JOIN @runs AS run ON run.task = tasks.seq
WHERE tasks.id = $9 AND {run_filter} AND run.planned <= $1 AND (NOT $7? OR run.planned >= $7)
ORDER BY run.planned DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: runs_page_of_owner
-- Reads the owner's tasks first, each with a bounded number of runs: other owners may have millions of runs in between.
SELECT {run_columns}, tasks.id FROM @tasks AS tasks STRAIGHT_JOIN @runs AS run ON run.task = tasks.seq
WHERE tasks.owner = $5 AND {run_filter} ORDER BY run.planned DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: runs_page_live
SELECT {run_columns}, tasks.id FROM @live_runs AS run JOIN @tasks AS tasks ON tasks.seq = run.task
WHERE {run_filter} AND (NOT $9? OR tasks.id = $9)
ORDER BY run.planned DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: runs_page_in_state
SELECT {run_columns}, tasks.id FROM @runs AS run STRAIGHT_JOIN @tasks AS tasks ON tasks.seq = run.task
WHERE run.ended_as = $9 AND {run_filter} AND run.planned <= $1
ORDER BY run.planned DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: runs_page_of_spans
-- Runs that are planned after a period, with a span that begins in it or before it.
SELECT {run_columns}, tasks.id FROM @runs AS run STRAIGHT_JOIN @tasks AS tasks ON tasks.seq = run.task
WHERE run.span_first <= $8 AND run.planned > $8 AND {run_filter} AND (NOT $9? OR tasks.id = $9)
ORDER BY run.planned DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: set_lane
-- No limit given: it stays as it is, and a new lane gets one that bounds nothing.
INSERT INTO @lanes (name, slot_limit) VALUES ($1, COALESCE($2, 1000000))
ON DUPLICATE KEY UPDATE slot_limit = COALESCE($2, slot_limit, 1000000)

-- name: set_lane_rate
UPDATE @lanes SET
  rate_starts = $2, rate_period = $3, started = CASE WHEN $2 IS NULL THEN 0 ELSE started END,
  last_start = CASE WHEN $2 IS NULL THEN NULL ELSE last_start END, wake_at = CASE WHEN $2 IS NULL THEN NULL ELSE wake_at END
WHERE name = $1

-- name: block_owner
INSERT INTO @blocked_owners (owner, reason) VALUES ($1, $2) ON DUPLICATE KEY UPDATE reason = VALUES(reason)

-- name: unblock_owner
DELETE FROM @blocked_owners WHERE owner = $1

-- name: events
SELECT number, kind, at, owner, task_id, run_id, detail FROM @events WHERE number > $1 ORDER BY number LIMIT $2

-- name: events_of_owner
SELECT number, kind, at, owner, task_id, run_id, detail FROM @events
WHERE number > $1 AND owner = $3 ORDER BY number LIMIT $2

-- name: last_event
SELECT last FROM @numbering

-- name: owner_event_counts
SELECT record_key, CAST(body AS SIGNED) FROM @records WHERE kind = 'removed_events' AND record_key IN ($1)
UNION ALL
SELECT owner, COUNT(*) FROM @events WHERE number <= $2 AND owner IN ($1) GROUP BY owner

-- name: read_metadata
SELECT value FROM @metadata WHERE name = $1

-- name: write_metadata
INSERT INTO @metadata (name, value) VALUES ($1, $2) ON DUPLICATE KEY UPDATE value = VALUES(value)
