-- Queries of the service: tasks, runs, lanes, nodes, events and metadata.

-- name: tasks_page
-- also: tasks_page_of_owner, tasks_page_of_name, tasks_page_of_prefix, tasks_page_of_kind
SELECT tasks.seq, task_state.version FROM @tasks JOIN @task_state ON task_state.task = tasks.seq
WHERE {task_filter} ORDER BY tasks.seq LIMIT $2

-- name: tasks_page_of_system
-- System tasks are few: the range of their owners is read and sorted.
WITH system_tasks AS MATERIALIZED (SELECT seq FROM @tasks WHERE owner >= 'horae:' AND owner < 'horae;')
SELECT tasks.seq, task_state.version
FROM system_tasks JOIN @tasks ON tasks.seq = system_tasks.seq JOIN @task_state ON task_state.task = tasks.seq
WHERE {task_filter} ORDER BY tasks.seq LIMIT $2

-- name: tasks_of_kind
-- A count up to a bound.
SELECT count(*) FROM (SELECT FROM @tasks WHERE target_kind = $1 LIMIT $2) AS tasks

-- name: tasks_page_paused_or_failed
SELECT tasks.seq, task_state.version FROM @task_state JOIN @tasks ON tasks.seq = task_state.task
WHERE task_state.listed_state = $11 AND {task_filter} ORDER BY task_state.task LIMIT $2

-- name: tasks_page_completed_or_cancelled
-- A task that an ordinary success completed is found by that run. As in tasks_page_of_label, the planner reads task by task
-- until the page is full.
SELECT listed.task, matches.version
FROM (
  SELECT DISTINCT task FROM (
    SELECT task FROM @task_state WHERE listed_state = $11 AND task > $1
    UNION ALL
    SELECT task FROM @runs WHERE completes = 1 AND task > $1 AND $11 = 'completed'
  ) AS either ORDER BY task
) AS listed CROSS JOIN LATERAL (
  SELECT task_state.version FROM @tasks JOIN @task_state ON task_state.task = tasks.seq
  WHERE tasks.seq = listed.task AND task_state.task = listed.task AND task_state.state = $11 AND {task_filter} LIMIT 1
) AS matches
ORDER BY listed.task LIMIT $2

-- name: tasks_page_failing
SELECT tasks.seq, task_state.version FROM @task_state JOIN @tasks ON tasks.seq = task_state.task
WHERE task_state.listed_state = 'failing' AND task_state.task > $1 AND {task_filter}
ORDER BY task_state.task LIMIT $2

-- name: tasks_page_failing_of_owner
-- For an owner with few tasks: those of others that fail may be many.
SELECT tasks.seq, task_state.version FROM @tasks JOIN @task_state ON task_state.task = tasks.seq
WHERE tasks.owner = $4 AND task_state.state = 'active' AND task_state.failures > 0 AND {task_filter}
ORDER BY tasks.seq LIMIT $2

-- name: tasks_page_of_cause
SELECT tasks.seq, task_state.version FROM @task_state JOIN @tasks ON tasks.seq = task_state.task
WHERE task_state.listed_state = 'paused' AND task_state.pause_cause = $11 AND task_state.task > $1 AND {task_filter}
ORDER BY task_state.task LIMIT $2

-- name: tasks_page_of_cause_and_owner
-- For an owner with few tasks: those of others that are paused for this cause may be many.
SELECT tasks.seq, task_state.version FROM @tasks JOIN @task_state ON task_state.task = tasks.seq
WHERE tasks.owner = $4 AND task_state.state = 'paused' AND task_state.pause_cause = $11 AND {task_filter}
ORDER BY tasks.seq LIMIT $2

-- name: tasks_page_of_label
-- also: tasks_page_of_label_and_owner
-- The inner ORDER BY and the LIMIT 1 make the planner start from the label and read task by task until the page is full,
-- whatever it estimates for the number of tasks.
SELECT labelled.task, matches.version
FROM (
  SELECT task FROM @labels WHERE label = $11 AND task > $1 AND {scope_filter owner 4} ORDER BY task
) AS labelled CROSS JOIN LATERAL (
  SELECT task_state.version FROM @tasks JOIN @task_state ON task_state.task = tasks.seq
  WHERE tasks.seq = labelled.task AND task_state.task = labelled.task AND {task_filter} LIMIT 1
) AS matches
ORDER BY labelled.task LIMIT $2

-- name: tasks_page_of_lane
SELECT tasks.seq, task_state.version FROM @tasks JOIN @task_state ON task_state.task = tasks.seq
WHERE tasks.lane = $6 AND {task_filter} ORDER BY tasks.seq LIMIT $2

-- name: tasks_page_of_further_lane
-- As tasks_page_of_label.
SELECT labelled.task, matches.version
FROM (SELECT task FROM @labels WHERE label = 'lane:' || $6 AND task > $1 ORDER BY task) AS labelled
CROSS JOIN LATERAL (
  SELECT task_state.version FROM @tasks JOIN @task_state ON task_state.task = tasks.seq
  WHERE tasks.seq = labelled.task AND task_state.task = labelled.task AND {task_filter} LIMIT 1
) AS matches
ORDER BY labelled.task LIMIT $2

-- name: tasks_page_of_text
-- The index of names is a tenth of the table: it is searched as a whole, and only what matches is read from the table. The
-- inner LIMIT keeps the planner from reading all tasks, whatever it estimates for the number of matches.
WITH named_tasks AS MATERIALIZED (
  SELECT seq FROM @tasks WHERE seq > $1 AND position(lower($8::text) IN lower(name)) > 0
)
SELECT named_tasks.seq, matches.version
FROM (SELECT seq FROM named_tasks ORDER BY seq) AS named_tasks CROSS JOIN LATERAL (
  SELECT task_state.version FROM @tasks JOIN @task_state ON task_state.task = tasks.seq
  WHERE tasks.seq = named_tasks.seq AND task_state.task = named_tasks.seq AND {task_filter} LIMIT 1
) AS matches
ORDER BY named_tasks.seq LIMIT $2

-- name: tasks_with_label
-- also: tasks_with_label_and_owner
-- A count up to a bound.
SELECT count(*) FROM (
  SELECT 1 FROM @labels WHERE label = $1 AND {scope_filter owner 2} LIMIT $3
) AS labelled

-- name: tasks_of_owner_and_in_states
SELECT
  (
    SELECT coalesce(sum(number), 0)::bigint FROM (
      SELECT number FROM @counters WHERE hour = 0 AND owner = $1 AND name LIKE 'state:%'
      UNION ALL
      SELECT number FROM @counter_deltas WHERE hour = 0 AND owner = $1 AND name LIKE 'state:%'
    ) AS of_owner
  ),
  (
    SELECT coalesce(sum(number), 0)::bigint FROM (
      SELECT number FROM @counters WHERE hour = 0 AND owner = '' AND name = ANY ((SELECT $2::text::text[])::text[])
      UNION ALL
      SELECT number FROM @counter_deltas WHERE hour = 0 AND name = ANY ((SELECT $2::text::text[])::text[])
    ) AS of_all_owners
  )

-- name: upcoming
SELECT agenda.task, task_state.version, agenda.due
FROM @agenda JOIN @task_state ON task_state.task = agenda.task
WHERE (agenda.task, agenda.slot) IN (
  (SELECT task, slot FROM @agenda WHERE state = 0 AND {scope_filter owner 1} ORDER BY due, task, slot LIMIT $2)
  UNION ALL
  (SELECT task, slot FROM @agenda WHERE state = 1 AND due > 0 AND {scope_filter owner 1} ORDER BY due LIMIT $2)
  UNION ALL
  (SELECT task, slot FROM @agenda WHERE state = 5 AND {scope_filter owner 1} ORDER BY due LIMIT $2)
)
ORDER BY agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: upcoming_of_owner
-- Reads the owner's tasks first: other owners may have a million entries before this owner's first.
SELECT agenda.task, task_state.version, agenda.due
FROM @tasks JOIN @agenda ON agenda.task = tasks.seq JOIN @task_state ON task_state.task = tasks.seq
WHERE tasks.owner = $1 AND agenda.state IN (0, 1, 5) ORDER BY agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: tasks_of_owner_and_all
SELECT
  (
    SELECT coalesce(sum(number), 0)::bigint FROM (
      SELECT number FROM @counters WHERE hour = 0 AND owner = $1 AND name LIKE 'state:%'
      UNION ALL
      SELECT number FROM @counter_deltas WHERE hour = 0 AND owner = $1 AND name LIKE 'state:%'
    ) AS of_owner
  ),
  (
    SELECT coalesce(sum(number), 0)::bigint FROM (
      SELECT number FROM @counters WHERE hour = 0 AND owner = '' AND name LIKE 'state:%'
      UNION ALL
      SELECT number FROM @counter_deltas WHERE hour = 0 AND name LIKE 'state:%'
    ) AS of_all_owners
  )

-- name: latest
SELECT newest.*, tasks.id
FROM @tasks CROSS JOIN LATERAL (
  (SELECT {run_columns} FROM @runs AS run WHERE run.task = tasks.seq ORDER BY planned DESC, attempt DESC, id DESC LIMIT 1)
  UNION ALL
  (SELECT {run_columns} FROM @live_runs AS run WHERE run.task = tasks.seq ORDER BY planned DESC, attempt DESC, id DESC LIMIT 1)
) AS newest
WHERE tasks.id = ANY ((SELECT $1::text::text[])::text[])

-- name: latest_outcomes
SELECT newest.*, tasks.id
FROM @tasks CROSS JOIN LATERAL (
  (
    SELECT {run_outcome_columns} FROM @runs AS run WHERE run.task = tasks.seq AND run.planned >= $3::bigint
    ORDER BY planned DESC, attempt DESC, id DESC LIMIT $2
  )
  UNION ALL
  (
    SELECT {run_outcome_columns} FROM @live_runs AS run WHERE run.task = tasks.seq AND run.planned >= $3::bigint
    ORDER BY planned DESC, attempt DESC, id DESC LIMIT $2
  )
) AS newest
WHERE tasks.id = ANY ((SELECT $1::text::text[])::text[])

-- name: counts
-- Hours beyond the retention may still be stored; they are left out.
SELECT hour, name, sum(number)::bigint FROM (
  SELECT hour, name, number FROM @counters WHERE hour = ANY ((SELECT $1::text::bigint[])::bigint[]) AND owner = $2
  UNION ALL
  SELECT hour, name, number FROM @counter_deltas WHERE hour = ANY ((SELECT $1::text::bigint[])::bigint[]) AND (owner = $2 OR {total_owner_columns} = $2)
) AS summed_and_pending
WHERE hour = 0 OR hour > least(
  $3::bigint, greatest((SELECT max(hour) FROM @counters), (SELECT max(hour) FROM @counter_deltas))
) - CASE WHEN name LIKE 'run:%' THEN $5::bigint ELSE $4::bigint END
GROUP BY hour, name HAVING sum(number) <> 0

-- name: output_bytes
SELECT coalesce(sum(size), 0)::bigint FROM (
  SELECT
    coalesce(octet_length(run.result), 0) + coalesce(octet_length(run.error), 0) + coalesce(octet_length(run.input), 0)
      + coalesce((SELECT sum(octet_length(line.text)) FROM @lines AS line WHERE line.run_id = run.id), 0) AS size
  FROM @tasks JOIN @runs AS run ON run.task = tasks.seq
  WHERE tasks.owner = $1
  UNION ALL
  SELECT
    coalesce(octet_length(run.result), 0) + coalesce(octet_length(run.error), 0) + coalesce(octet_length(run.input), 0)
      + coalesce((SELECT sum(octet_length(line.text)) FROM @lines AS line WHERE line.run_id = run.id), 0) AS size
  FROM @tasks JOIN @live_runs AS run ON run.task = tasks.seq
  WHERE tasks.owner = $1
) AS sizes

-- name: waiting
SELECT
  (SELECT count(*) FROM (
    SELECT 1 FROM @agenda WHERE state = 0 AND due <= $2 AND {scope_filter owner 1} LIMIT $3) AS timed),
  (SELECT count(*) FROM (
    SELECT 1 FROM @agenda WHERE state = 1 AND due > 0 AND due <= $2 AND {scope_filter owner 1} LIMIT $3) AS ready),
  (SELECT count(*) FROM (
    SELECT 1 FROM @agenda WHERE state = 3 AND {scope_filter owner 1}
      AND NOT (lane >= 'function:' AND lane < 'function;' OR lane >= 'target:' AND lane < 'target;') LIMIT $3) AS parked),
  (SELECT count(*) FROM (
    SELECT 1 FROM @agenda WHERE state = 3 AND {scope_filter owner 1}
      AND (lane >= 'function:' AND lane < 'function;' OR lane >= 'target:' AND lane < 'target;') LIMIT $3) AS stranded),
  (SELECT count(*) FROM (
    SELECT 1 FROM @agenda WHERE state = 5 AND due <= $2 AND {scope_filter owner 1} LIMIT $3) AS queued)

-- name: tasks_due_in_route_queues
SELECT DISTINCT agenda.task, task_state.version
FROM @agenda JOIN @task_state ON task_state.task = agenda.task
WHERE agenda.state = 5 AND agenda.due <= $1 AND {scope_filter agenda.owner 2}
ORDER BY agenda.task LIMIT $3

-- name: tasks_parked_at_route
SELECT DISTINCT agenda.task, task_state.version
FROM @agenda JOIN @task_state ON task_state.task = agenda.task
WHERE agenda.state = 3 AND agenda.lane >= $1 AND agenda.lane < $2 AND {scope_filter agenda.owner 3}
ORDER BY agenda.task LIMIT $4

-- name: all_lanes
SELECT name, slot_limit, taken, rate_starts, rate_period, started FROM (
  SELECT
    lane_names.name, slot_limit, (SELECT count(*) FROM @lane_slots WHERE lane = lane_names.name) AS taken, rate_starts,
    rate_period, started
  FROM (SELECT name FROM @lanes UNION SELECT lane FROM @lane_slots) AS lane_names
  LEFT JOIN @lanes ON lanes.name = lane_names.name
) AS lane_uses
WHERE slot_limit IS NOT NULL OR taken > 0 ORDER BY name

-- name: lane_queues
SELECT lane, count(*), min(due) FROM @agenda WHERE state = 3 GROUP BY lane ORDER BY lane

-- name: tasks_parked_in_lane
SELECT agenda.task, task_state.version
FROM @agenda JOIN @task_state ON task_state.task = agenda.task
WHERE agenda.state = 3 AND agenda.lane = $1 ORDER BY agenda.priority DESC, agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: lane_line
SELECT tasks.id, agenda.slot, agenda.owner, agenda.priority, agenda.due, agenda.waited
FROM @agenda JOIN @tasks ON tasks.seq = agenda.task
WHERE agenda.state = 3 AND agenda.lane = $1 ORDER BY agenda.priority DESC, agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: lane_turn
SELECT owner FROM @lane_turns WHERE lane = $1

-- name: lane_runs
SELECT {run_columns}, tasks.id
FROM @lane_slots JOIN @live_runs AS run ON run.id = lane_slots.run_id JOIN @tasks ON tasks.seq = run.task
WHERE lane_slots.lane = $1 ORDER BY lane_slots.run_id LIMIT $2

-- name: all_nodes
SELECT {node_columns} FROM @nodes ORDER BY id

-- name: live_run
SELECT {run_columns}, tasks.id FROM @live_runs AS run JOIN @tasks ON tasks.seq = run.task WHERE run.id = $1

-- name: ended_run
SELECT {run_columns}, tasks.id FROM @runs AS run JOIN @tasks ON tasks.seq = run.task WHERE run.stray = 1 AND run.id = $1
UNION ALL
SELECT {run_columns}, tasks.id FROM @runs AS run JOIN @tasks ON tasks.seq = run.task
WHERE run.planned + 0 BETWEEN $2 AND $3 AND run.id = $1 AND run.stray = 0

-- name: task_ids
SELECT tasks.id FROM @tasks
WHERE tasks.id >= $1 AND tasks.id < $1 || '~' AND {reader_filter tasks.owner 2} ORDER BY tasks.id LIMIT $3

-- name: task_names
SELECT tasks.id, tasks.name FROM @tasks
WHERE tasks.id = ANY ((SELECT $1::text::text[])::text[]) AND {reader_filter tasks.owner 2}

-- name: live_run_ids
SELECT run.id FROM @live_runs AS run
WHERE run.id >= $1 AND run.id < $1 || '~' AND {reader_filter run.owner 2} ORDER BY run.id LIMIT $3

-- name: ended_run_ids
(
  SELECT run.id FROM @runs AS run
  WHERE run.stray = 1 AND run.id >= $1 AND run.id < $1 || '~' AND {reader_filter run.owner 2} LIMIT $3
)
UNION ALL
(
  SELECT run.id FROM @runs AS run
  WHERE run.planned + 0 BETWEEN $4 AND $5 AND run.stray = 0 AND run.id >= $1 AND run.id < $1 || '~'
    AND {reader_filter run.owner 2}
  LIMIT $3
)

-- name: runs_page
SELECT {run_columns}, tasks.id FROM @runs AS run JOIN @tasks ON tasks.seq = run.task
WHERE {run_filter} AND run.planned + 0 <= $1 AND run.planned + 0 >= coalesce($7, -9223372036854775807)
ORDER BY run.planned + 0 DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: runs_page_of_task
-- A join would read all runs of the task before it sorts them.
SELECT {run_columns}, $9::text FROM @runs AS run
WHERE run.task = (SELECT seq FROM @tasks WHERE id = $9) AND {run_filter} AND run.planned <= $1
  AND run.planned >= coalesce($7, -9223372036854775807)
ORDER BY run.planned DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: runs_page_of_owner
-- Reads the owner's tasks first, each with a bounded number of runs: other owners may have millions of runs in between.
SELECT {run_columns}, tasks.id FROM @tasks JOIN @runs AS run ON run.task = tasks.seq
WHERE tasks.owner = $5 AND {run_filter} AND run.planned <= $1 AND run.planned >= coalesce($7, -9223372036854775807)
ORDER BY run.planned DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: runs_page_live
SELECT {run_columns}, tasks.id FROM @live_runs AS run JOIN @tasks ON tasks.seq = run.task
WHERE {run_filter} AND ($9::text IS NULL OR tasks.id = $9)
ORDER BY run.planned DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: runs_page_in_state
SELECT {run_columns}, tasks.id FROM @runs AS run JOIN @tasks ON tasks.seq = run.task
WHERE run.state = $9 AND run.state <> 'succeeded' AND {run_filter} AND run.planned + 0 <= $1
  AND run.planned + 0 >= coalesce($7, -9223372036854775807)
ORDER BY run.planned + 0 DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: runs_page_of_spans
-- Runs that are planned after a period, with a span that begins in it or before it.
SELECT {run_columns}, tasks.id FROM @runs AS run JOIN @tasks ON tasks.seq = run.task
WHERE run.span_first IS NOT NULL AND run.span_first <= $8 AND run.planned + 0 > $8 AND {run_filter}
  AND ($9::text IS NULL OR run.task = (SELECT seq FROM @tasks WHERE id = $9))
ORDER BY run.planned + 0 DESC, run.attempt DESC, run.id DESC LIMIT $4

-- name: set_lane
-- No limit given: it stays as it is, and a new lane gets one that bounds nothing.
INSERT INTO @lanes (name, slot_limit) VALUES ($1, coalesce($2::integer, 1000000))
ON CONFLICT (name) DO UPDATE SET slot_limit = coalesce($2::integer, lanes.slot_limit, 1000000)

-- name: set_lane_rate
UPDATE @lanes SET
  rate_starts = $2::integer, rate_period = $3::bigint, started = CASE WHEN $2::integer IS NULL THEN 0 ELSE started END,
  last_start = CASE WHEN $2::integer IS NULL THEN NULL ELSE last_start END,
  wake_at = CASE WHEN $2::integer IS NULL THEN NULL ELSE wake_at END
WHERE name = $1

-- name: block_owner
INSERT INTO @blocked_owners (owner, reason) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET reason = excluded.reason

-- name: unblock_owner
DELETE FROM @blocked_owners WHERE owner = $1

-- name: has_unnumbered_events
SELECT EXISTS (SELECT 1 FROM @event_batches WHERE first IS NULL AND {ended_transaction_filter})

-- name: lock_numbering
SELECT last FROM @numbering FOR UPDATE

-- name: number_events
WITH
  new_batches AS (
    SELECT tx, $1::bigint + 1 + sum(size) OVER (ORDER BY tx) - size AS first, size
    FROM @event_batches WHERE first IS NULL AND {ended_transaction_filter}
  ),
  numbered_batches AS (UPDATE @event_batches SET first = new_batches.first FROM new_batches WHERE event_batches.tx = new_batches.tx)
UPDATE @numbering SET last = greatest(last, (SELECT max(first + size - 1) FROM new_batches))

-- name: events
-- Starts at the transaction that holds the first wanted number, so that older events are not read.
SELECT {event_columns} FROM (SELECT {all_event_columns}) AS events
WHERE first >= coalesce((SELECT max(first) FROM @event_batches WHERE first <= $1::bigint + 1), 0) AND first + place > $1
ORDER BY first, place LIMIT $2

-- name: events_of_owner
SELECT {event_columns} FROM (SELECT {all_event_columns}) AS events
WHERE first >= coalesce((SELECT max(first) FROM @event_batches WHERE first <= $1::bigint + 1), 0) AND first + place > $1
  AND owner = $3
ORDER BY first, place LIMIT $2

-- name: last_event
SELECT last FROM @numbering

-- name: owner_event_counts
-- Bundles are counted by their size, without being unpacked.
SELECT key, body::bigint FROM @records WHERE kind = 'removed_events' AND key = ANY ((SELECT $1::text::text[])::text[])
UNION ALL
SELECT events.owner, count(*) FROM @event_batches JOIN @events ON events.tx = event_batches.tx
WHERE event_batches.first <= $2 AND event_batches.first + events.place <= $2 AND events.owner = ANY ((SELECT $1::text::text[])::text[])
GROUP BY events.owner
UNION ALL
SELECT packed_events.owner, sum(least(packed_events.size, $2 - event_batches.first - packed_events.place + 1) - packed_events.removed)::bigint
FROM @event_batches JOIN @packed_events ON packed_events.tx = event_batches.tx
WHERE event_batches.first <= $2 AND event_batches.first + packed_events.place + packed_events.removed <= $2
  AND packed_events.owner = ANY ((SELECT $1::text::text[])::text[])
GROUP BY packed_events.owner

-- name: read_metadata
SELECT value FROM @metadata WHERE name = $1

-- name: write_metadata
INSERT INTO @metadata (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
