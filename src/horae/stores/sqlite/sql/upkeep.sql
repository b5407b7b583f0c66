-- Statements of retention and of the integrity check.

-- name: expired_rows
-- One statement, because an idle node runs no other. An expired run was also planned before the limit, so the index on
-- planned instants finds it; events are taken from the oldest up to the first that is not expired.
SELECT
  (
    SELECT json_group_array(json_array(seq, id, id)) FROM (
      SELECT seq, id FROM runs INDEXED BY runs_by_plan
      WHERE planned < ?1 AND live = 0 AND ended < ?1 ORDER BY planned LIMIT ?2
    )
  ),
  (
    SELECT json_group_array(task) FROM (
      SELECT task FROM task_state INDEXED BY task_state_ended
      WHERE ended < ?1 AND state IN ('completed', 'failed', 'cancelled')
        AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.task = task_state.task)
        AND NOT EXISTS (SELECT 1 FROM agenda WHERE agenda.task = task_state.task)
        AND NOT EXISTS (
          SELECT 1 FROM tasks WHERE tasks.seq = task_state.task
            AND (tasks.successors IS NOT NULL OR (task_state.state = 'failed' AND tasks.schedule LIKE '{"kind":"after"%'))
        )
      ORDER BY ended LIMIT ?2
    )
  ),
  (
    WITH oldest_events AS MATERIALIZED (SELECT number, at FROM events ORDER BY number LIMIT ?2)
    SELECT json_group_array(number ORDER BY number) FROM oldest_events
    WHERE number < coalesce((SELECT min(number) FROM oldest_events WHERE at >= ?1), 9223372036854775807)
  ),
  coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0),
  0,
  EXISTS (SELECT 1 FROM chain_rows WHERE updated < ?1)

-- name: tasks_over_run_limit
SELECT task FROM runs INDEXED BY runs_of_task WHERE task > ?1 AND task <= ?4
GROUP BY task HAVING count(*) > ?2 ORDER BY task LIMIT ?3

-- name: highest_task
SELECT coalesce(max(seq), 0) FROM tasks

-- name: event_window_end
-- The number of the ?2-th event of a run after ?1, or ?3 if there are fewer.
SELECT coalesce(
  (SELECT number FROM events WHERE number > ?1 AND run_id IS NOT NULL ORDER BY number LIMIT 1 OFFSET ?2 - 1), ?3
)

-- name: recent_tasks_over_run_limit
SELECT task FROM runs INDEXED BY runs_of_task WHERE task IN (
  SELECT tasks.seq FROM events JOIN tasks ON tasks.id = events.task_id
  WHERE events.number > ?1 AND events.number <= ?2 AND events.run_id IS NOT NULL
)
GROUP BY task HAVING count(*) > ?3 ORDER BY task

-- name: ended_tasks
-- Checked again without runs and entries: a task that ran since it was found is not deleted yet.
SELECT task, state, (SELECT owner FROM tasks WHERE tasks.seq = task_state.task) FROM task_state
WHERE task IN carray(?) AND state IN ('completed', 'failed', 'cancelled') AND ended < ?
  AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.task = task_state.task)
  AND NOT EXISTS (SELECT 1 FROM agenda WHERE agenda.task = task_state.task)
        AND NOT EXISTS (
          SELECT 1 FROM tasks WHERE tasks.seq = task_state.task
            AND (tasks.successors IS NOT NULL OR (task_state.state = 'failed' AND tasks.schedule LIKE '{"kind":"after"%'))
        )

-- name: surplus_runs
-- The oldest ended runs beyond the newest ?2.
-- Their number is counted in the index, so that a task with a large surplus costs no more than others.
SELECT seq, id, id FROM runs INDEXED BY runs_of_task WHERE task = ?1 AND live = 0 ORDER BY planned, attempt, id
LIMIT max(0, min(?3,
  (SELECT count(*) FROM runs INDEXED BY runs_of_task WHERE task = ?1)
  - (SELECT count(*) FROM runs INDEXED BY runs_live WHERE live = 1 AND task = ?1)
  - ?2
))

-- name: drop_runs
-- By number and id: a number may belong to a new run by now.
DELETE FROM runs WHERE seq IN carray(?) AND id IN carray(?) AND live = 0 RETURNING 1

-- name: drop_lines
DELETE FROM lines WHERE run_id IN carray(?)

-- name: drop_lines_above
DELETE FROM lines WHERE run_id = ? AND number > ?

-- name: count_removed_events
-- Counts removed events per owner: the event numbers that an owner sees include them.
INSERT INTO records (kind, key, owner, body, version)
SELECT 'removed_events', owner, owner, CAST(count(*) AS TEXT), 1 FROM events WHERE number <= ? GROUP BY owner
ON CONFLICT (kind, key) DO UPDATE
SET body = CAST(CAST(body AS INTEGER) + CAST(excluded.body AS INTEGER) AS TEXT), version = version + 1

-- name: drop_events
DELETE FROM events WHERE number <= ? RETURNING 1

-- name: integrity
PRAGMA integrity_check

-- name: orphan_entries
SELECT slot, task FROM agenda WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.seq = agenda.task)

-- name: orphan_runs
SELECT id, task FROM runs WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.seq = runs.task)

-- name: tasks_without_status
SELECT id FROM tasks WHERE NOT EXISTS (SELECT 1 FROM task_state WHERE task_state.task = tasks.seq)

-- name: mislabelled_tasks
SELECT coalesce(tasks.id, 'number ' || label_rows.task) FROM (
  SELECT label, task, owner, 1 AS sign FROM labels
  UNION ALL
  SELECT DISTINCT label.value, tasks.seq, tasks.owner, -1 FROM tasks, json_each(tasks.labels) AS label
  UNION ALL
  SELECT DISTINCT 'lane:' || lane.value, tasks.seq, tasks.owner, -1 FROM tasks, json_each(tasks.policies, '$.lanes') AS lane
  WHERE tasks.lane IS NOT NULL
) AS label_rows LEFT JOIN tasks ON tasks.seq = label_rows.task
GROUP BY label_rows.task, label_rows.label, label_rows.owner HAVING sum(sign) <> 0 ORDER BY label_rows.task

-- name: wrong_lane_slots
SELECT lane, sum(taken), sum(live_runs) FROM (
  SELECT lane, count(*) AS taken, 0 AS live_runs FROM lane_slots GROUP BY lane
  UNION ALL
  SELECT lane.value, 0, count(DISTINCT runs.id) FROM runs, json_each(runs.lanes) AS lane
  WHERE runs.live = 1 AND runs.lanes IS NOT NULL GROUP BY lane.value
) GROUP BY lane HAVING sum(taken) <> sum(live_runs) ORDER BY lane

-- name: wrong_lane_starts
SELECT lane FROM lane_starts AS kept GROUP BY lane
HAVING sum(size) <> max(first_number + size) - min(first_number)
  OR max(first_number + size) <> coalesce((
    SELECT started FROM lanes AS counted WHERE counted.name = kept.lane AND counted.rate_starts IS NOT NULL
  ), -1)
ORDER BY lane

-- name: lanes_without_wakeup
-- Entries wait in a lane with a rate and a free slot, none is unparked, and nothing will unpark them.
SELECT lanes.name FROM lanes AS lanes WHERE lanes.rate_starts IS NOT NULL AND lanes.wake_at IS NULL
  AND EXISTS (SELECT 1 FROM agenda AS parked WHERE parked.state = 3 AND parked.lane = lanes.name)
  AND NOT EXISTS (SELECT 1 FROM agenda AS unparked WHERE unparked.lane = lanes.name AND unparked.state < 2)
  AND (SELECT count(*) FROM lane_slots AS taken WHERE taken.lane = lanes.name) < lanes.slot_limit
ORDER BY lanes.name

-- name: tasks_without_work
SELECT tasks.id FROM tasks JOIN task_state ON task_state.task = tasks.seq
WHERE task_state.state = 'active' AND tasks.schedule NOT LIKE '{"kind":"after"%'
  AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_live_of_task WHERE runs.live = 1 AND runs.task = tasks.seq)
  AND NOT EXISTS (SELECT 1 FROM agenda WHERE agenda.task = tasks.seq)
ORDER BY tasks.id

-- name: wrong_state_counters
SELECT owner, name, sum(recorded), sum(actual) FROM (
  SELECT owner, name, number AS recorded, 0 AS actual FROM counters WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT tasks.owner, 'state:' || task_state.state, 0, count(*)
  FROM tasks JOIN task_state ON task_state.task = tasks.seq GROUP BY tasks.owner, task_state.state
  UNION ALL
  SELECT CASE WHEN owner >= 'horae:' AND owner < 'horae;' THEN 'horae:*' ELSE '' END, 'state:' || task_state.state, 0, count(*)
  FROM tasks JOIN task_state ON task_state.task = tasks.seq GROUP BY 1, task_state.state
) GROUP BY owner, name HAVING sum(recorded) <> sum(actual) ORDER BY owner, name

-- name: orphan_chain_rows
SELECT DISTINCT task FROM chain_rows WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.seq = chain_rows.task)

-- name: chained_tasks
SELECT {task_columns}, task_state.state FROM tasks JOIN task_state ON task_state.task = tasks.seq
WHERE tasks.successors IS NOT NULL OR tasks.schedule LIKE '{"kind":"after"%' ORDER BY tasks.seq

-- name: doubtful_chain_rows
SELECT {chain_row_columns}, tasks.id FROM chain_rows JOIN tasks ON tasks.seq = chain_rows.task
WHERE chain_rows.state = 'open' OR (chain_rows.state = 'fired' AND chain_rows.planned IS NULL)
ORDER BY chain_rows.task, chain_rows.root

-- name: drop_chain_rows
DELETE FROM chain_rows WHERE (task, root) IN (
  SELECT task, root FROM chain_rows WHERE updated < ? ORDER BY updated LIMIT ?
)

-- name: drop_unused_lane_turns
DELETE FROM lane_turns WHERE NOT EXISTS (SELECT 1 FROM lane_slots WHERE lane_slots.lane = lane_turns.lane)
  AND NOT EXISTS (SELECT 1 FROM agenda INDEXED BY agenda_parked WHERE state = 3 AND agenda.lane = lane_turns.lane)
