-- Statements of retention and of the integrity check.

-- name: expired_rows
-- One statement, because an idle node runs no other. An expired run was also planned before the limit, so the index on
-- planned instants finds it; events are taken from the oldest up to the first that is not expired.
SELECT
  (
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(task, planned, attempt, origin, id) ORDER BY planned, id), ']') FROM (
      SELECT task, planned, attempt, origin, id FROM @runs
      WHERE planned < $1 AND ended < $1 ORDER BY planned LIMIT $2
    ) AS old_runs
  ),
  (
    SELECT CONCAT('[', GROUP_CONCAT(task ORDER BY ended, task), ']') FROM (
      SELECT task, ended FROM @task_state AS task_state
      WHERE ended < $1 AND state IN ('completed', 'failed', 'cancelled')
        AND NOT EXISTS (SELECT 1 FROM @runs AS run WHERE run.task = task_state.task)
        AND NOT EXISTS (SELECT 1 FROM @live_runs AS run WHERE run.task = task_state.task)
        AND NOT EXISTS (SELECT 1 FROM @agenda AS agenda WHERE agenda.task = task_state.task)
        AND NOT EXISTS (
          SELECT 1 FROM @tasks AS tasks WHERE tasks.seq = task_state.task
            AND (tasks.successors IS NOT NULL OR (task_state.state = 'failed' AND tasks.schedule LIKE '{"kind":"after"%'))
        )
      ORDER BY ended LIMIT $2
    ) AS old_tasks
  ),
  (
    SELECT CONCAT('[', GROUP_CONCAT(number ORDER BY number), ']')
    FROM (SELECT number FROM @events ORDER BY number LIMIT $2) AS oldest
    WHERE number < COALESCE(
      (SELECT MIN(number) FROM (SELECT number, at FROM @events ORDER BY number LIMIT $2) AS candidates WHERE at >= $1),
      9223372036854775807
    )
  ),
  (SELECT last FROM @numbering),
  EXISTS (SELECT 1 FROM @counter_deltas),
  EXISTS (SELECT 1 FROM @chain_rows WHERE updated < $1)

-- name: tasks_over_run_limit
-- Counts a range of task numbers at a time: counting the whole ledger may take minutes.
SELECT task FROM @runs WHERE task > $1 AND task <= $4 GROUP BY task HAVING COUNT(*) > $2 ORDER BY task LIMIT $3

-- name: highest_task
SELECT COALESCE(MAX(seq), 0) FROM @tasks

-- name: event_window_end
-- The number of the $2-th event of a run after $1, or $3 if there are fewer.
SELECT COALESCE(
  (SELECT number FROM @events WHERE number > $1 AND run_id IS NOT NULL ORDER BY number LIMIT 1 OFFSET $2-1), $3
)

-- name: recent_tasks_over_run_limit
SELECT run.task FROM (
  SELECT DISTINCT tasks.seq FROM @events AS recent_event JOIN @tasks AS tasks ON tasks.id = recent_event.task_id
  WHERE recent_event.number > $1 AND recent_event.number <= $2 AND recent_event.run_id IS NOT NULL
) AS recent_task
STRAIGHT_JOIN @runs AS run ON run.task = recent_task.seq
GROUP BY run.task HAVING COUNT(*) > $3 ORDER BY run.task

-- name: surplus_runs
-- The oldest runs beyond the newest $2.
SELECT task, planned, attempt, origin, id FROM (
  SELECT
    task, planned, attempt, origin, id,
    ROW_NUMBER() OVER (ORDER BY planned DESC, attempt DESC, id DESC) AS newest_rank
  FROM @runs WHERE task = $1
) AS ranked
WHERE newest_rank > $2 ORDER BY planned, attempt, id LIMIT $3

-- name: ended_tasks
-- Checked again without runs and entries: a task that ran since it was found is not deleted yet.
SELECT task, state, (SELECT owner FROM @tasks AS tasks WHERE tasks.seq = task_state.task) FROM @task_state AS task_state
WHERE task IN ($1) AND state IN ('completed', 'failed', 'cancelled') AND ended < $2
  AND NOT EXISTS (SELECT 1 FROM @runs AS run WHERE run.task = task_state.task)
  AND NOT EXISTS (SELECT 1 FROM @live_runs AS run WHERE run.task = task_state.task)
  AND NOT EXISTS (SELECT 1 FROM @agenda AS agenda WHERE agenda.task = task_state.task)
        AND NOT EXISTS (
          SELECT 1 FROM @tasks AS tasks WHERE tasks.seq = task_state.task
            AND (tasks.successors IS NOT NULL OR (task_state.state = 'failed' AND tasks.schedule LIKE '{"kind":"after"%'))
        )

-- name: drop_runs
DELETE FROM @runs WHERE task IN ($1) AND planned <= $2^ AND (task, planned, attempt, origin) IN ($1+2+3+4)

-- name: drop_lines
DELETE FROM @lines WHERE run_id IN ($1)

-- name: drop_lines_above
DELETE FROM @lines WHERE run_id = $1 AND number > $2

-- name: drop_events
-- The record `removed_events` counts the removed events of each owner: the event numbers that an owner sees include them.
SELECT owner FROM @events WHERE number <= $1 FOR UPDATE;;
INSERT INTO @records (kind, record_key, owner, body, version)
SELECT 'removed_events', owner, owner, CAST(COUNT(*) AS CHAR), 1 FROM @events WHERE number <= $1 GROUP BY owner
ON DUPLICATE KEY UPDATE body = CAST(CAST(body AS SIGNED) + CAST(VALUES(body) AS SIGNED) AS CHAR), version = version + 1;;
DELETE FROM @events WHERE number <= $1

-- name: sum_counter_deltas
-- One transaction at a time (row lock); a second one does nothing. Rows that are being written are left for the next time.
SELECT only FROM @counter_lock FOR UPDATE SKIP LOCKED;;
SELECT seq FROM @counter_deltas WHERE 1 IN ($found_1) LIMIT 5000 FOR UPDATE SKIP LOCKED;;
INSERT INTO @counters (owner, hour, name, number)
SELECT owner, hour, name, SUM(number) FROM @counter_deltas WHERE seq IN ($found_1) GROUP BY owner, hour, name
ON DUPLICATE KEY UPDATE number = @counters.number + VALUES(number);
INSERT INTO @counters (owner, hour, name, number)
SELECT {total_owner_columns} AS total, hour, name, SUM(number) FROM @counter_deltas WHERE seq IN ($found_1) GROUP BY total, hour, name
ON DUPLICATE KEY UPDATE number = @counters.number + VALUES(number);
DELETE FROM @counter_deltas WHERE seq IN ($found_1)

-- name: delete_old_counters
-- The retention counts back from the newest stored hour, or from the current hour if that one is in the future. Also
-- deletes numbers of tokens and tasks that were issued long ago and that no transaction can still use.
DELETE FROM @counters
WHERE hour BETWEEN 1 AND LEAST($1, (SELECT hour FROM (SELECT MAX(hour) AS hour FROM @counters) AS newest)) - $3;
DELETE FROM @counters
WHERE hour BETWEEN LEAST($1, (SELECT hour FROM (SELECT MAX(hour) AS hour FROM @counters) AS newest)) - $2 - $4
  AND LEAST($1, (SELECT hour FROM (SELECT MAX(hour) AS hour FROM @counters) AS newest)) - $2
  AND hour > 0 AND name NOT LIKE 'run:%';
DELETE FROM @tokens
WHERE number < (SELECT limit_number FROM (SELECT MAX(number) - 100000 AS limit_number FROM @tokens) AS issued) LIMIT 10000;
DELETE FROM @task_numbers
WHERE number < (SELECT limit_number FROM (SELECT MAX(number) - 100000 AS limit_number FROM @task_numbers) AS issued) LIMIT 10000

-- name: drop_unused_lanes
-- Rows of lanes without a limit, which exist only to be locked.
SELECT name FROM @lanes AS lanes WHERE slot_limit IS NULL
  AND NOT EXISTS (SELECT 1 FROM @lane_slots AS lane_slots WHERE lane_slots.lane = lanes.name)
  AND NOT EXISTS (SELECT 1 FROM @agenda AS agenda WHERE agenda.state = 3 AND agenda.queue = lanes.name)
LIMIT 1000 FOR UPDATE SKIP LOCKED;;
DELETE FROM @lanes WHERE name IN ($found_1)

-- name: orphan_entries
SELECT slot, task FROM @agenda AS agenda WHERE NOT EXISTS (SELECT 1 FROM @tasks AS tasks WHERE tasks.seq = agenda.task)

-- name: orphan_runs
SELECT id, task FROM @runs AS run WHERE NOT EXISTS (SELECT 1 FROM @tasks AS tasks WHERE tasks.seq = run.task)
UNION ALL
SELECT id, task FROM @live_runs AS run WHERE NOT EXISTS (SELECT 1 FROM @tasks AS tasks WHERE tasks.seq = run.task)

-- name: tasks_without_status
SELECT id FROM @tasks AS tasks WHERE NOT EXISTS (SELECT 1 FROM @task_state AS s WHERE s.task = tasks.seq)

-- name: mislabelled_tasks
SELECT COALESCE(MIN(tasks.id), CONCAT('number ', differences.task)) FROM (
  SELECT label, task, owner, 1 AS sign FROM @labels
  UNION ALL
  SELECT label, task, owner, -1 FROM ({labels_filter}) AS actual_labels
  UNION ALL
  SELECT label, task, owner, -1 FROM ({further_lanes_filter}) AS actual_lanes
) AS differences LEFT JOIN @tasks AS tasks ON tasks.seq = differences.task
GROUP BY differences.task, differences.label, differences.owner HAVING SUM(sign) <> 0 ORDER BY differences.task

-- name: wrong_lane_slots
SELECT lane, CAST(SUM(taken) AS SIGNED), CAST(SUM(live) AS SIGNED) FROM (
  SELECT lane, COUNT(*) AS taken, 0 AS live FROM @lane_slots GROUP BY lane
  UNION ALL
  SELECT run_lane.lane, 0, COUNT(DISTINCT run.id)
  FROM @live_runs AS run, JSON_TABLE(run.lanes, '$[*]' COLUMNS (
    lane VARCHAR(255) CHARACTER SET utf8mb4 COLLATE {collation} PATH '$'
  )) AS run_lane
  WHERE run.lanes IS NOT NULL GROUP BY run_lane.lane
) AS compared GROUP BY lane HAVING SUM(taken) <> SUM(live) ORDER BY lane

-- name: wrong_lane_starts
SELECT lane FROM @lane_starts AS kept GROUP BY lane
HAVING sum(size) <> max(first_number + size) - min(first_number)
  OR max(first_number + size) <> coalesce((
    SELECT started FROM @lanes AS counted WHERE counted.name = kept.lane AND counted.rate_starts IS NOT NULL
  ), -1)
ORDER BY lane

-- name: lanes_without_wakeup
-- Entries wait in a lane with a rate and a free slot, none is unparked, and nothing will unpark them.
SELECT lanes.name FROM @lanes AS lanes WHERE lanes.rate_starts IS NOT NULL AND lanes.wake_at IS NULL
  AND EXISTS (SELECT 1 FROM @agenda AS parked WHERE parked.state = 3 AND parked.lane = lanes.name)
  AND NOT EXISTS (SELECT 1 FROM @agenda AS unparked WHERE unparked.lane = lanes.name AND unparked.state < 2)
  AND (SELECT count(*) FROM @lane_slots AS taken WHERE taken.lane = lanes.name) < lanes.slot_limit
ORDER BY lanes.name

-- name: tasks_without_work
SELECT tasks.id FROM @tasks AS tasks JOIN @task_state AS task_state ON task_state.task = tasks.seq
WHERE task_state.state = 'active' AND tasks.schedule NOT LIKE '{"kind":"after"%'
  AND NOT EXISTS (SELECT 1 FROM @live_runs AS run WHERE run.task = tasks.seq)
  AND NOT EXISTS (SELECT 1 FROM @agenda AS agenda WHERE agenda.task = tasks.seq)
ORDER BY tasks.id

-- name: wrong_state_counters
SELECT owner, name, CAST(SUM(recorded) AS SIGNED), CAST(SUM(actual) AS SIGNED) FROM (
  SELECT owner, name, number AS recorded, 0 AS actual FROM @counters WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT owner, name, number, 0 FROM @counter_deltas WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT {total_owner_columns}, name, number, 0 FROM @counter_deltas WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT tasks.owner, CONCAT('state:', task_state.state), 0, COUNT(*)
  FROM @tasks AS tasks JOIN @task_state AS task_state ON task_state.task = tasks.seq GROUP BY tasks.owner, task_state.state
  UNION ALL
  SELECT {total_owner_columns} AS total, CONCAT('state:', task_state.state), 0, COUNT(*)
  FROM @tasks AS tasks JOIN @task_state AS task_state ON task_state.task = tasks.seq GROUP BY total, task_state.state
) AS compared GROUP BY owner, name HAVING SUM(recorded) <> SUM(actual) ORDER BY owner, name

-- name: runs_live_and_ended
SELECT live.id FROM @live_runs AS live JOIN @runs AS past ON past.task = live.task AND past.planned = live.planned
  AND past.attempt = live.attempt AND past.origin = live.origin

-- name: orphan_chain_rows
SELECT DISTINCT task FROM @chain_rows AS chain_rows WHERE NOT EXISTS (SELECT 1 FROM @tasks AS tasks WHERE tasks.seq = chain_rows.task)

-- name: chained_tasks
SELECT {task_columns}, task_state.state FROM @tasks AS tasks JOIN @task_state AS task_state ON task_state.task = tasks.seq
WHERE tasks.successors IS NOT NULL OR tasks.schedule LIKE '{"kind":"after"%' ORDER BY tasks.seq

-- name: doubtful_chain_rows
SELECT {chain_row_columns}, tasks.id FROM @chain_rows AS chain_rows JOIN @tasks AS tasks ON tasks.seq = chain_rows.task
WHERE chain_rows.state = 'open' OR (chain_rows.state = 'fired' AND chain_rows.planned IS NULL)
ORDER BY chain_rows.task, chain_rows.root

-- name: drop_chain_rows
DELETE FROM @chain_rows WHERE updated < $1 ORDER BY updated LIMIT $2

-- name: drop_unused_lane_turns
SELECT lane FROM @lane_turns AS lane_turns
WHERE NOT EXISTS (SELECT 1 FROM @lane_slots AS lane_slots WHERE lane_slots.lane = lane_turns.lane)
  AND NOT EXISTS (SELECT 1 FROM @agenda AS agenda WHERE agenda.lane = lane_turns.lane AND agenda.state = 3)
LIMIT 1000 FOR UPDATE SKIP LOCKED;;
DELETE FROM @lane_turns WHERE lane IN ($found_1)
