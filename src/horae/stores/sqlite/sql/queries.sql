-- Queries of the service: tasks, runs, lanes, nodes, events and metadata.

-- name: tasks_page
-- In creation order, which every index has within one key. The index is forced in each variant: a filter that may be
-- absent makes the planner sort a million rows instead.
SELECT tasks.seq, task_state.version FROM tasks NOT INDEXED JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.seq > ?1 AND {task_filter} ORDER BY tasks.seq LIMIT ?2

-- name: tasks_page_of_owner
SELECT tasks.seq, task_state.version
FROM tasks INDEXED BY tasks_by_owner JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.owner = ?4 AND tasks.seq > ?1 AND {task_filter} ORDER BY tasks.seq LIMIT ?2

-- name: tasks_page_of_system
-- System tasks are few: the range of their owners is read and sorted.
SELECT tasks.seq, task_state.version
FROM tasks INDEXED BY tasks_by_owner JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.owner >= 'horae:' AND tasks.owner < 'horae;' AND tasks.seq > ?1 AND {task_filter} ORDER BY tasks.seq LIMIT ?2

-- name: tasks_page_of_name
SELECT tasks.seq, task_state.version
FROM tasks INDEXED BY tasks_by_name JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.name = ?5 AND tasks.seq > ?1 AND {task_filter} ORDER BY tasks.seq LIMIT ?2

-- name: tasks_page_of_kind
SELECT tasks.seq, task_state.version
FROM tasks INDEXED BY tasks_by_kind JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.target_kind = ?7 AND tasks.seq > ?1 AND {task_filter} ORDER BY tasks.seq LIMIT ?2

-- name: tasks_of_kind
-- A count up to a bound.
SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY tasks_by_kind WHERE target_kind = ?1 LIMIT ?2)

-- name: tasks_page_of_lane
SELECT tasks.seq, task_state.version
FROM tasks INDEXED BY tasks_by_lane JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.lane IS NOT NULL AND tasks.lane = ?6 AND tasks.seq > ?1 AND {task_filter} ORDER BY tasks.seq LIMIT ?2

-- name: tasks_page_of_further_lane
SELECT tasks.seq, task_state.version
FROM labels NOT INDEXED CROSS JOIN tasks ON tasks.seq = labels.task JOIN task_state ON task_state.task = tasks.seq
WHERE labels.label = 'lane:' || ?6 AND labels.task > ?1 AND {task_filter} ORDER BY labels.task LIMIT ?2

-- name: tasks_page_of_text
-- The index of names is a tenth of the table: it is searched as a whole, and only what matches is read from the table.
WITH named_tasks AS MATERIALIZED (
  SELECT seq FROM tasks INDEXED BY tasks_by_name WHERE seq > ?1 AND instr(lower(name), lower(?8)) ORDER BY seq
)
SELECT tasks.seq, task_state.version
FROM named_tasks CROSS JOIN tasks ON tasks.seq = named_tasks.seq JOIN task_state ON task_state.task = tasks.seq
WHERE {task_filter} ORDER BY named_tasks.seq LIMIT ?2

-- name: tasks_page_of_prefix
SELECT tasks.seq, task_state.version
FROM tasks INDEXED BY tasks_by_id JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.id >= ?9 AND tasks.id < ?9 || '~' AND tasks.seq > ?1 AND {task_filter}
ORDER BY tasks.seq LIMIT ?2

-- name: tasks_page_of_label
SELECT tasks.seq, task_state.version
FROM labels NOT INDEXED CROSS JOIN tasks ON tasks.seq = labels.task JOIN task_state ON task_state.task = tasks.seq
WHERE labels.label = ?11 AND labels.task > ?1 AND {task_filter} ORDER BY labels.task LIMIT ?2

-- name: tasks_page_of_label_and_owner
SELECT tasks.seq, task_state.version
FROM labels INDEXED BY labels_of_owner CROSS JOIN tasks ON tasks.seq = labels.task
JOIN task_state ON task_state.task = tasks.seq
WHERE labels.owner = ?4 AND labels.label = ?11 AND labels.task > ?1 AND {task_filter}
ORDER BY labels.task LIMIT ?2

-- name: tasks_with_label
-- A count up to a bound.
SELECT count(*) FROM (SELECT 1 FROM labels NOT INDEXED WHERE label = ?1 LIMIT ?3)

-- name: tasks_with_label_and_owner
SELECT count(*) FROM (
  SELECT 1 FROM labels INDEXED BY labels_of_owner WHERE owner = ?2 AND label = ?1 LIMIT ?3
)

-- name: tasks_page_paused_or_failed
SELECT tasks.seq, task_state.version
FROM task_state INDEXED BY task_state_paused_or_failed CROSS JOIN tasks ON tasks.seq = task_state.task
WHERE task_state.state IN ('paused', 'failed') AND task_state.state = ?11 AND task_state.task > ?1 AND {task_filter}
ORDER BY task_state.task LIMIT ?2

-- name: tasks_page_completed_or_cancelled
SELECT tasks.seq, task_state.version
FROM task_state INDEXED BY task_state_completed_or_cancelled CROSS JOIN tasks ON tasks.seq = task_state.task
WHERE task_state.state IN ('completed', 'cancelled') AND task_state.state = ?11 AND task_state.task > ?1 AND {task_filter}
ORDER BY task_state.task LIMIT ?2

-- name: tasks_page_failing
SELECT tasks.seq, task_state.version
FROM task_state INDEXED BY task_state_failing CROSS JOIN tasks ON tasks.seq = task_state.task
WHERE task_state.state = 'active' AND task_state.failures > 0 AND task_state.task > ?1 AND {task_filter}
ORDER BY task_state.task LIMIT ?2

-- name: tasks_page_failing_of_owner
-- For an owner with few tasks: those of others that fail may be many.
SELECT tasks.seq, task_state.version
FROM tasks INDEXED BY tasks_by_owner CROSS JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.owner = ?4 AND tasks.seq > ?1 AND task_state.state = 'active' AND task_state.failures > 0
  AND {task_filter}
ORDER BY tasks.seq LIMIT ?2

-- name: tasks_page_of_cause
SELECT tasks.seq, task_state.version
FROM task_state INDEXED BY task_state_pause_cause CROSS JOIN tasks ON tasks.seq = task_state.task
WHERE task_state.state = 'paused' AND task_state.pause_cause = ?11 AND task_state.task > ?1 AND {task_filter}
ORDER BY task_state.task LIMIT ?2

-- name: tasks_page_of_cause_and_owner
-- For an owner with few tasks: those of others that are paused for this cause may be many.
SELECT tasks.seq, task_state.version
FROM tasks INDEXED BY tasks_by_owner CROSS JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.owner = ?4 AND tasks.seq > ?1 AND task_state.state = 'paused' AND task_state.pause_cause = ?11
  AND {task_filter}
ORDER BY tasks.seq LIMIT ?2

-- name: tasks_of_owner_and_in_states
SELECT
  (SELECT coalesce(sum(number), 0) FROM counters WHERE hour = 0 AND owner = ?1 AND name LIKE 'state:%'),
  (SELECT coalesce(sum(number), 0) FROM counters WHERE hour = 0 AND owner = '' AND name IN carray(?2))

-- name: upcoming
-- Also used for one owner whose share of all entries is large.
SELECT * FROM (
  SELECT agenda.task, task_state.version, agenda.due
  FROM agenda INDEXED BY agenda_timed JOIN task_state ON task_state.task = agenda.task
  WHERE agenda.state = 0 AND {scope_filter agenda.owner 1} ORDER BY agenda.due LIMIT ?2
)
UNION ALL
SELECT * FROM (
  SELECT agenda.task, task_state.version, agenda.due
  FROM agenda INDEXED BY agenda_ready_due JOIN task_state ON task_state.task = agenda.task
  WHERE agenda.state = 1 AND {scope_filter agenda.owner 1} ORDER BY agenda.due LIMIT ?2
)
UNION ALL
SELECT * FROM (
  SELECT agenda.task, task_state.version, agenda.due
  FROM agenda INDEXED BY agenda_queued JOIN task_state ON task_state.task = agenda.task
  WHERE agenda.state = 5 AND {scope_filter agenda.owner 1} ORDER BY agenda.due LIMIT ?2
)
ORDER BY 3 LIMIT ?2

-- name: tasks_of_owner_and_all
SELECT
  (SELECT coalesce(sum(number), 0) FROM counters WHERE hour = 0 AND owner = ? AND name LIKE 'state:%'),
  (SELECT coalesce(sum(number), 0) FROM counters WHERE hour = 0 AND owner = '' AND name LIKE 'state:%')

-- name: upcoming_of_owner
-- Reads the owner's tasks first: other owners may have a million entries before this owner's first.
SELECT agenda.task, task_state.version, agenda.due
FROM tasks INDEXED BY tasks_by_owner CROSS JOIN agenda ON agenda.task = tasks.seq JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.owner = ? AND agenda.state IN (0, 1, 5) ORDER BY agenda.due LIMIT ?

-- name: latest
SELECT {run_columns}, tasks.id
FROM carray(?) AS task_ids CROSS JOIN tasks ON tasks.id = task_ids.value CROSS JOIN runs ON runs.seq = (
  SELECT newest.seq FROM runs AS newest INDEXED BY runs_of_task WHERE newest.task = tasks.seq
  ORDER BY newest.planned DESC, newest.attempt DESC, newest.id DESC LIMIT 1
)

-- name: latest_outcomes
-- In the order of the index: an order by id would read each row twice.
SELECT {run_outcome_columns}, tasks.id
FROM carray(?1) AS task_ids CROSS JOIN tasks ON tasks.id = task_ids.value CROSS JOIN runs ON runs.seq IN (
  SELECT newest.seq FROM runs AS newest INDEXED BY runs_of_task WHERE newest.task = tasks.seq AND newest.planned >= ?3
  ORDER BY newest.planned DESC, newest.attempt DESC, newest.origin DESC LIMIT ?2
)

-- name: counts
-- Hours beyond the retention may still be stored; they are left out.
SELECT hour, name, number FROM counters
WHERE hour IN carray(?1) AND owner = ?2 AND number <> 0
  AND (hour = 0 OR hour > min(?3, (SELECT max(hour) FROM counters)) - iif(name LIKE 'run:%', ?5, ?4))

-- name: output_bytes
-- octet_length of a column reads the size alone, not the pages of a long text.
SELECT coalesce(sum(
  coalesce(octet_length(runs.result), 0) + coalesce(octet_length(runs.error), 0) + coalesce(octet_length(runs.input), 0)
    + coalesce((SELECT sum(octet_length(lines.text)) FROM lines WHERE lines.run_id = runs.id), 0)
), 0)
FROM tasks INDEXED BY tasks_by_owner CROSS JOIN runs INDEXED BY runs_of_task ON runs.task = tasks.seq
WHERE tasks.owner = ?

-- name: waiting
SELECT
  (SELECT count(*) FROM (
    SELECT 1 FROM agenda INDEXED BY agenda_timed
    WHERE state = 0 AND due <= ?2 AND {scope_filter owner 1} LIMIT ?3)),
  (SELECT count(*) FROM (
    SELECT 1 FROM agenda INDEXED BY agenda_ready_due
    WHERE state = 1 AND {scope_filter owner 1} LIMIT ?3)),
  (SELECT count(*) FROM (
    SELECT 1 FROM agenda INDEXED BY agenda_parked
    WHERE state = 3 AND {scope_filter owner 1}
      AND NOT (lane >= 'function:' AND lane < 'function;' OR lane >= 'target:' AND lane < 'target;') LIMIT ?3)),
  (SELECT count(*) FROM (
    SELECT 1 FROM agenda INDEXED BY agenda_parked
    WHERE state = 3 AND {scope_filter owner 1}
      AND (lane >= 'function:' AND lane < 'function;' OR lane >= 'target:' AND lane < 'target;') LIMIT ?3)),
  (SELECT count(*) FROM (
    SELECT 1 FROM agenda INDEXED BY agenda_queued
    WHERE state = 5 AND due <= ?2 AND {scope_filter owner 1} LIMIT ?3))

-- name: tasks_due_in_route_queues
SELECT DISTINCT agenda.task, task_state.version
FROM agenda INDEXED BY agenda_queued JOIN task_state ON task_state.task = agenda.task
WHERE agenda.state = 5 AND agenda.due <= ?1 AND {scope_filter agenda.owner 2} ORDER BY agenda.task LIMIT ?3

-- name: tasks_parked_at_route
SELECT DISTINCT agenda.task, task_state.version
FROM agenda INDEXED BY agenda_parked JOIN task_state ON task_state.task = agenda.task
WHERE agenda.state = 3 AND agenda.lane >= ?1 AND agenda.lane < ?2 AND {scope_filter agenda.owner 3}
LIMIT ?4

-- name: all_lanes
SELECT
  lane_names.name, slot_limit, (SELECT count(*) FROM lane_slots WHERE lane = lane_names.name), rate_starts, rate_period,
  started
FROM (SELECT name FROM lanes UNION SELECT lane FROM lane_slots) AS lane_names
LEFT JOIN lanes ON lanes.name = lane_names.name ORDER BY lane_names.name

-- name: lane_queues
SELECT lane, count(*), min(due) FROM agenda INDEXED BY agenda_parked WHERE state = 3 GROUP BY lane ORDER BY lane

-- name: tasks_parked_in_lane
SELECT agenda.task, task_state.version
FROM agenda INDEXED BY agenda_parked JOIN task_state ON task_state.task = agenda.task
WHERE agenda.state = 3 AND agenda.lane = ? ORDER BY agenda.priority DESC, agenda.due, agenda.task, agenda.slot
LIMIT ?

-- name: lane_line
SELECT tasks.id, agenda.slot, agenda.owner, agenda.priority, agenda.due, agenda.waited
FROM agenda INDEXED BY agenda_parked JOIN tasks ON tasks.seq = agenda.task
WHERE agenda.state = 3 AND agenda.lane = ? ORDER BY agenda.priority DESC, agenda.due, agenda.task, agenda.slot LIMIT ?

-- name: lane_turn
SELECT owner FROM lane_turns WHERE lane = ?

-- name: lane_runs
SELECT {run_columns}, tasks.id
FROM lane_slots CROSS JOIN runs INDEXED BY runs_live ON runs.live = 1 AND runs.id = lane_slots.run_id
JOIN tasks ON tasks.seq = runs.task
WHERE lane_slots.lane = ? ORDER BY lane_slots.run_id LIMIT ?

-- name: all_nodes
SELECT {node_columns} FROM nodes ORDER BY id

-- name: drain
UPDATE nodes SET draining = ? WHERE id = ?

-- name: live_run
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_live JOIN tasks ON tasks.seq = runs.task
WHERE runs.live = 1 AND runs.id = ?

-- name: run_stray
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_stray JOIN tasks ON tasks.seq = runs.task
WHERE runs.stray = 1 AND runs.id = ?

-- name: ended_run
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_stray JOIN tasks ON tasks.seq = runs.task
WHERE runs.stray = 1 AND runs.id = ?1
UNION ALL
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_by_plan JOIN tasks ON tasks.seq = runs.task
WHERE runs.planned BETWEEN ?2 AND ?3 AND runs.id = ?1 AND runs.stray = 0

-- name: run_among_first
-- One instant may have a million runs: this reads at most 256 of them.
SELECT {run_columns}, tasks.id FROM runs JOIN tasks ON tasks.seq = runs.task
WHERE runs.seq IN (
    SELECT first_runs.seq FROM runs AS first_runs INDEXED BY runs_by_plan
    WHERE first_runs.planned BETWEEN ? AND ? LIMIT 256
  )
  AND runs.id = ?

-- name: task_ids
SELECT id FROM tasks INDEXED BY tasks_by_id
WHERE id >= ?1 AND id < ?1 || '~' AND {reader_filter owner 2} ORDER BY id LIMIT ?3

-- name: task_names
SELECT tasks.id, tasks.name FROM carray(?1) AS task_ids CROSS JOIN tasks ON tasks.id = task_ids.value
WHERE {reader_filter tasks.owner 2}

-- name: live_run_ids
SELECT id FROM runs INDEXED BY runs_live
WHERE live = 1 AND id >= ?1 AND id < ?1 || '~' AND {reader_filter owner 2} ORDER BY id LIMIT ?3

-- name: ended_run_ids
-- Live runs too, which are few.
SELECT id FROM runs INDEXED BY runs_stray
WHERE stray = 1 AND id >= ?1 AND id < ?1 || '~' AND {reader_filter owner 2}
UNION ALL
SELECT id FROM runs INDEXED BY runs_by_plan
WHERE planned BETWEEN ?4 AND ?5 AND stray = 0 AND id >= ?1 AND id < ?1 || '~' AND {reader_filter owner 2}
LIMIT ?3

-- name: runs_page
-- Pages of ended runs, which are in one table with the live ones.
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_by_plan JOIN tasks ON tasks.seq = runs.task
WHERE runs.live = 0 AND {run_filter} ORDER BY runs.planned DESC, runs.attempt DESC, runs.id DESC LIMIT ?4

-- name: runs_page_of_task
SELECT {run_columns}, tasks.id FROM tasks JOIN runs INDEXED BY runs_of_task ON runs.task = tasks.seq
WHERE tasks.id = ?9 AND runs.live = 0 AND {run_filter}
ORDER BY runs.planned DESC, runs.attempt DESC, runs.id DESC LIMIT ?4

-- name: runs_page_of_owner
-- Reads the owner's tasks first, each with a bounded number of runs: other owners may have millions of runs in between.
SELECT {run_columns}, tasks.id
FROM tasks INDEXED BY tasks_by_owner CROSS JOIN runs INDEXED BY runs_of_task ON runs.task = tasks.seq
WHERE tasks.owner = ?5 AND runs.live = 0 AND {run_filter}
ORDER BY runs.planned DESC, runs.attempt DESC, runs.id DESC LIMIT ?4

-- name: runs_page_live
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_live JOIN tasks ON tasks.seq = runs.task
WHERE runs.live = 1 AND {run_filter} AND (?9 IS NULL OR tasks.id = ?9)
ORDER BY runs.planned DESC, runs.attempt DESC, runs.id DESC LIMIT ?4

-- name: runs_page_in_state
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_unsuccessful JOIN tasks ON tasks.seq = runs.task
WHERE runs.state IN ('failed', 'timed_out', 'lost', 'cancelled', 'skipped') AND runs.state = ?9 AND {run_filter}
ORDER BY runs.planned DESC, runs.attempt DESC, runs.id DESC LIMIT ?4

-- name: runs_page_of_spans
-- Runs that are planned after a period, with a span that begins in it or before it.
SELECT {run_columns}, tasks.id FROM runs INDEXED BY runs_with_span JOIN tasks ON tasks.seq = runs.task
WHERE runs.live = 0 AND runs.span_first <= ?8 AND runs.planned > ?8
  AND (?9 IS NULL OR runs.task = (SELECT seq FROM tasks WHERE id = ?9)) AND {run_filter}
ORDER BY runs.planned DESC, runs.attempt DESC, runs.id DESC LIMIT ?4

-- name: set_lane
-- No limit given: it stays as it is, and a new lane gets one that bounds nothing.
INSERT INTO lanes (name, slot_limit) VALUES (?1, coalesce(?2, 1000000))
ON CONFLICT (name) DO UPDATE SET slot_limit = coalesce(?2, slot_limit)

-- name: set_lane_rate
UPDATE lanes SET
  rate_starts = ?2, rate_period = ?3, started = CASE WHEN ?2 IS NULL THEN 0 ELSE started END,
  last_start = CASE WHEN ?2 IS NULL THEN NULL ELSE last_start END, wake_at = CASE WHEN ?2 IS NULL THEN NULL ELSE wake_at END
WHERE name = ?1

-- name: block_owner
REPLACE INTO blocked_owners (owner, reason) VALUES (?, ?)

-- name: unblock_owner
DELETE FROM blocked_owners WHERE owner = ?

-- name: events
SELECT number, kind, at, owner, task_id, run_id, detail FROM events WHERE number > ? ORDER BY number LIMIT ?

-- name: events_of_owner
SELECT number, kind, at, owner, task_id, run_id, detail FROM events
WHERE number > ?1 AND owner = ?3 ORDER BY number LIMIT ?2

-- name: last_event
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)

-- name: owner_event_counts
SELECT
  owners.value,
  coalesce((SELECT CAST(body AS INTEGER) FROM records WHERE kind = 'removed_events' AND key = owners.value), 0)
    + (SELECT count(*) FROM events WHERE number <= ?2 AND owner = owners.value)
FROM carray(?1) AS owners

-- name: read_metadata
SELECT value FROM metadata WHERE name = ?

-- name: write_metadata
REPLACE INTO metadata (name, value) VALUES (?, ?)
