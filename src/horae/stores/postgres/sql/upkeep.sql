-- Statements of retention and of the integrity check.

-- name: expired_rows
-- One statement, because an idle node runs no other. An expired run was also planned before the limit, so the index on
-- planned instants finds it; events are taken from the oldest up to the first that is not expired. A run that completed its
-- task counts twice, because the task is removed with it; the first run is taken in any case.
WITH
  oldest_runs AS (
    SELECT task, planned, attempt, origin, id, completes FROM @runs
    WHERE planned + 0 < $1 AND ended < $1 ORDER BY planned + 0 LIMIT $2
  ),
  old_runs AS MATERIALIZED (
    SELECT * FROM (
      SELECT
        *, row_number() OVER run_order AS number, sum(1 + coalesce(completes, 0)) OVER run_order AS row_count
      FROM oldest_runs WINDOW run_order AS (ORDER BY planned + 0 ROWS UNBOUNDED PRECEDING)
    ) AS counted_runs WHERE number = 1 OR row_count <= $2
  )
SELECT
  (SELECT json_agg(json_build_array(task, planned, attempt, origin, id) ORDER BY number)::text FROM old_runs),
  (
    SELECT json_agg(task)::text FROM (
      SELECT DISTINCT task FROM old_runs WHERE completes = 1
      UNION ALL
      (SELECT task FROM @task_state
      WHERE listed_end IS NOT NULL AND listed_end < $1 AND state IN ('completed', 'failed', 'cancelled')
        AND NOT EXISTS (SELECT 1 FROM @runs WHERE runs.task = task_state.task)
        AND NOT EXISTS (SELECT 1 FROM @live_runs WHERE live_runs.task = task_state.task)
        AND NOT EXISTS (SELECT 1 FROM @agenda WHERE agenda.task = task_state.task)
        AND NOT EXISTS (
          SELECT 1 FROM @tasks WHERE tasks.seq = task_state.task
            AND (tasks.successors IS NOT NULL OR (task_state.state = 'failed' AND tasks.schedule LIKE '{"kind":"after"%'))
        )
      ORDER BY listed_end LIMIT $2)
    ) AS old_tasks
  ),
  (
    WITH oldest AS MATERIALIZED (
      SELECT first + place AS number, at FROM (SELECT {all_event_columns}) AS events
      WHERE first IS NOT NULL AND first < $2 + (
        SELECT first + size FROM @event_batches AS earliest WHERE first IS NOT NULL ORDER BY first LIMIT 1
      )
      ORDER BY first, place LIMIT $2
    )
    SELECT json_agg(number ORDER BY number)::text FROM oldest
    WHERE number < coalesce((SELECT min(number) FROM oldest WHERE at >= $1), 9223372036854775807)
  ),
  (SELECT last FROM @numbering),
  EXISTS (SELECT 1 FROM @counter_deltas),
  EXISTS (SELECT 1 FROM @chain_rows WHERE updated < $1)

-- name: tasks_over_run_limit
-- Counts a range of task numbers at a time: counting the whole ledger may take minutes.
SELECT task FROM @runs WHERE task > $1 AND task <= $4 GROUP BY task HAVING count(*) > $2 ORDER BY task LIMIT $3

-- name: highest_task
SELECT coalesce(max(seq), 0) FROM @tasks

-- name: event_window_end
-- The number of the $2-th event of a run after $1, or $3 if there are fewer.
SELECT coalesce(
  (
    SELECT first + place FROM (SELECT {all_event_columns}) AS events
    WHERE first >= coalesce((SELECT max(first) FROM @event_batches WHERE first <= $1::bigint + 1), 0)
      AND first + place > $1 AND run_id IS NOT NULL
    ORDER BY first, place LIMIT 1 OFFSET $2::bigint - 1
  ),
  $3
)

-- name: recent_tasks_over_run_limit
-- Every task is looked up individually: the planner's statistics may be from when the tables were empty.
SELECT recent.task FROM (
  SELECT DISTINCT tasks.seq AS task FROM (SELECT {all_event_columns}) AS events
  CROSS JOIN LATERAL (SELECT seq FROM @tasks AS each WHERE each.id = events.task_id ORDER BY each.id LIMIT 1) AS tasks
  WHERE first >= coalesce((SELECT max(first) FROM @event_batches WHERE first <= $1::bigint + 1), 0)
    AND first <= $2 AND first + place > $1 AND first + place <= $2 AND run_id IS NOT NULL
) AS recent
WHERE (
  SELECT count(*) FROM (
    SELECT 1 FROM @runs WHERE runs.task = recent.task ORDER BY planned, attempt, origin LIMIT $3::bigint + 1
  ) AS counted_runs
) > $3::bigint
ORDER BY recent.task

-- name: surplus_runs
-- The oldest runs beyond the newest $2.
SELECT task, planned, attempt, origin, id FROM @runs WHERE task = $1 ORDER BY planned, attempt, id
LIMIT greatest(0, least($3::bigint, (SELECT count(*) FROM @runs WHERE task = $1) - $2::bigint))

-- name: ended_tasks
-- Checked again without runs and entries: a task that ran since it was found is not deleted yet.
SELECT task, state, (SELECT owner FROM @tasks WHERE tasks.seq = task_state.task) FROM @task_state
WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[]) AND state IN ('completed', 'failed', 'cancelled') AND ended < $2
  AND NOT EXISTS (SELECT 1 FROM @runs WHERE runs.task = task_state.task)
  AND NOT EXISTS (SELECT 1 FROM @live_runs WHERE live_runs.task = task_state.task)
  AND NOT EXISTS (SELECT 1 FROM @agenda WHERE agenda.task = task_state.task)
        AND NOT EXISTS (
          SELECT 1 FROM @tasks WHERE tasks.seq = task_state.task
            AND (tasks.successors IS NOT NULL OR (task_state.state = 'failed' AND tasks.schedule LIKE '{"kind":"after"%'))
        )

-- name: drop_runs
DELETE FROM @runs USING unnest(
  $1::text::bigint[], $2::text::bigint[], $3::text::integer[], $4::text::text[]
) AS expired (task, planned, attempt, origin)
WHERE runs.task = expired.task AND runs.planned = expired.planned AND runs.attempt = expired.attempt
  AND runs.origin = expired.origin
RETURNING 1

-- name: list_completed_tasks
-- Tasks that outlive the run that completed them are found by their own row from now on.
UPDATE @task_state SET completed_by_run = NULL
WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[]) AND completed_by_run = 1
  AND (SELECT 1 FROM @runs WHERE runs.task = task_state.task AND runs.completes = 1 ORDER BY runs.task LIMIT 1) IS NULL

-- name: unlisted_tasks
SELECT tasks.id FROM @task_state JOIN @tasks ON tasks.seq = task_state.task
WHERE task_state.completed_by_run = 1
  AND NOT EXISTS (SELECT 1 FROM @runs WHERE runs.task = task_state.task AND runs.completes = 1)
ORDER BY tasks.id

-- name: drop_lines
DELETE FROM @lines WHERE run_id = ANY ((SELECT $1::text::text[])::text[])

-- name: drop_lines_above
DELETE FROM @lines WHERE run_id = $1 AND number > $2

-- name: drop_events
-- A bundle that is expired in part stays, with the number of removed events in `removed`. The record `removed_events` counts the
-- removed events of each owner: the event numbers that an owner sees include them.
WITH
  expired_batches AS MATERIALIZED (SELECT tx, size, first FROM @event_batches WHERE first <= $1),
  expired_bundles AS MATERIALIZED (
    SELECT
      packed_events.row_id, packed_events.removed, packed_events.size,
      least(packed_events.size, $1 - expired_batches.first - packed_events.place + 1)::integer AS expired_size
    FROM expired_batches CROSS JOIN LATERAL (
      SELECT candidate.ctid AS row_id, candidate.* FROM @packed_events AS candidate
      WHERE candidate.tx = expired_batches.tx ORDER BY candidate.place
    ) AS packed_events
    WHERE expired_batches.first + packed_events.place + packed_events.removed <= $1
  ),
  deleted_batches AS (
    DELETE FROM @event_batches USING expired_batches
    WHERE event_batches.tx = expired_batches.tx AND expired_batches.first + expired_batches.size - 1 <= $1
  ),
  deleted_bundles AS (
    DELETE FROM @packed_events WHERE ctid = ANY (ARRAY(SELECT row_id FROM expired_bundles WHERE expired_size = size))
    RETURNING owner, size - removed AS number
  ),
  cut_bundles AS (
    UPDATE @packed_events SET removed = (SELECT expired_size FROM expired_bundles WHERE expired_size < size)
    WHERE ctid = (SELECT row_id FROM expired_bundles WHERE expired_size < size)
    RETURNING owner
  ),
  deleted_events AS (
    DELETE FROM @events USING expired_batches
    WHERE events.tx = expired_batches.tx AND expired_batches.first + events.place <= $1 RETURNING owner
  ),
  removed_counts AS (
    SELECT owner, count(*) AS number FROM deleted_events GROUP BY owner
    UNION ALL
    SELECT owner, number FROM deleted_bundles
    UNION ALL
    SELECT cut_bundles.owner, expired_bundles.expired_size - expired_bundles.removed FROM cut_bundles, expired_bundles
    WHERE expired_bundles.expired_size < expired_bundles.size
  ),
  recorded_counts AS (
    INSERT INTO @records (kind, key, owner, body, version)
    SELECT 'removed_events', owner, owner, sum(number)::bigint::text, 1 FROM removed_counts GROUP BY owner ORDER BY owner
    ON CONFLICT (kind, key) DO UPDATE
    SET body = (records.body::bigint + excluded.body::bigint)::text, version = records.version + 1
  )
SELECT 1 FROM deleted_events
UNION ALL
SELECT 1 FROM expired_bundles
CROSS JOIN LATERAL generate_series(expired_bundles.removed + 1, expired_bundles.expired_size)

-- name: sum_counter_deltas
-- One transaction at a time (advisory lock); a second one does nothing.
WITH
  fold_lock AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(hashtext('@counter_deltas'), 1) AS is_held),
  deleted_deltas AS (DELETE FROM @counter_deltas WHERE (SELECT is_held FROM fold_lock) RETURNING owner, hour, name, number),
  sums AS (
    SELECT owner, hour, name, sum(number) AS number FROM deleted_deltas GROUP BY owner, hour, name
    UNION ALL
    SELECT {total_owner_columns}, hour, name, sum(number) FROM deleted_deltas GROUP BY 1, hour, name
  )
INSERT INTO @counters (owner, hour, name, number) SELECT owner, hour, name, number FROM sums ORDER BY hour, owner, name
ON CONFLICT (hour, owner, name) DO UPDATE SET number = counters.number + excluded.number

-- name: delete_old_counters
-- The retention counts back from the newest stored hour, or from the current hour if that one is in the future.
-- Outcomes are kept longer than the other counters.
WITH newest AS MATERIALIZED (SELECT least($1::bigint, (SELECT max(hour) FROM @counters)) AS hour)
DELETE FROM @counters WHERE hour BETWEEN 1 AND (SELECT hour FROM newest) - $3::bigint
OR (
  hour BETWEEN greatest(1, (SELECT hour FROM newest) - $2::bigint - $4::bigint) AND (SELECT hour FROM newest) - $2::bigint
  AND name NOT LIKE 'run:%'
)

-- name: drop_unused_lanes
-- Rows of lanes without a limit, which exist only to be locked.
DELETE FROM @lanes WHERE name IN (
  SELECT name FROM @lanes WHERE slot_limit IS NULL
    AND NOT EXISTS (SELECT 1 FROM @lane_slots WHERE lane = name)
    AND NOT EXISTS (SELECT 1 FROM @agenda WHERE state = 3 AND agenda.lane = lanes.name)
  LIMIT 1000 FOR UPDATE SKIP LOCKED
)

-- name: orphan_entries
SELECT slot, task FROM @agenda WHERE NOT EXISTS (SELECT 1 FROM @tasks WHERE tasks.seq = agenda.task)

-- name: orphan_runs
SELECT id, task FROM @runs WHERE NOT EXISTS (SELECT 1 FROM @tasks WHERE tasks.seq = runs.task)
UNION ALL
SELECT id, task FROM @live_runs WHERE NOT EXISTS (SELECT 1 FROM @tasks WHERE tasks.seq = live_runs.task)

-- name: tasks_without_status
SELECT id FROM @tasks WHERE NOT EXISTS (SELECT 1 FROM @task_state WHERE task_state.task = tasks.seq)

-- name: mislabelled_tasks
SELECT coalesce(min(tasks.id), 'number ' || differences.task) FROM (
  SELECT label, task, owner, 1 AS sign FROM @labels
  UNION ALL
  SELECT DISTINCT label_item.value::text, tasks.seq, tasks.owner, -1
  FROM @tasks CROSS JOIN LATERAL json_array_elements(tasks.labels::json) AS label_item WHERE tasks.labels <> '[]'
  UNION ALL
  SELECT DISTINCT 'lane:' || lane.value, tasks.seq, tasks.owner, -1
  FROM @tasks CROSS JOIN LATERAL json_array_elements_text(coalesce(tasks.policies::json -> 'lanes', '[]')) AS lane
  WHERE tasks.lane IS NOT NULL AND strpos(tasks.policies, '"lanes":') > 0
) AS differences LEFT JOIN @tasks ON tasks.seq = differences.task
GROUP BY differences.task, differences.label, differences.owner HAVING sum(sign) <> 0 ORDER BY differences.task

-- name: wrong_lane_slots
SELECT lane, sum(taken)::bigint, sum(live)::bigint FROM (
  SELECT lane, count(*) AS taken, 0 AS live FROM @lane_slots GROUP BY lane
  UNION ALL
  SELECT lane.value, 0, count(DISTINCT live_runs.id) FROM @live_runs, jsonb_array_elements_text(live_runs.lanes::jsonb) AS lane (value)
  WHERE live_runs.lanes IS NOT NULL GROUP BY lane.value
) AS compared GROUP BY lane HAVING sum(taken) <> sum(live) ORDER BY lane

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
SELECT tasks.id FROM @tasks JOIN @task_state ON task_state.task = tasks.seq
WHERE task_state.state = 'active' AND tasks.schedule NOT LIKE '{"kind":"after"%'
  AND NOT EXISTS (SELECT 1 FROM @live_runs WHERE live_runs.task = tasks.seq)
  AND NOT EXISTS (SELECT 1 FROM @agenda WHERE agenda.task = tasks.seq)
ORDER BY tasks.id

-- name: wrong_state_counters
SELECT owner, name, sum(recorded)::bigint, sum(actual)::bigint FROM (
  SELECT owner, name, number AS recorded, 0 AS actual FROM @counters WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT owner, name, number, 0 FROM @counter_deltas WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT {total_owner_columns}, name, number, 0 FROM @counter_deltas WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT tasks.owner, 'state:' || task_state.state, 0, count(*)
  FROM @tasks JOIN @task_state ON task_state.task = tasks.seq GROUP BY tasks.owner, task_state.state
  UNION ALL
  SELECT {total_owner_columns}, 'state:' || task_state.state, 0, count(*)
  FROM @tasks JOIN @task_state ON task_state.task = tasks.seq GROUP BY 1, task_state.state
) AS compared GROUP BY owner, name HAVING sum(recorded) <> sum(actual) ORDER BY owner, name

-- name: runs_live_and_ended
SELECT live_runs.id FROM @live_runs JOIN @runs ON runs.task = live_runs.task AND runs.planned = live_runs.planned
  AND runs.attempt = live_runs.attempt AND runs.origin = live_runs.origin

-- name: orphan_chain_rows
SELECT DISTINCT task FROM @chain_rows WHERE NOT EXISTS (SELECT 1 FROM @tasks WHERE tasks.seq = chain_rows.task)

-- name: chained_tasks
SELECT {task_columns}, task_state.state FROM @tasks JOIN @task_state ON task_state.task = tasks.seq
WHERE tasks.successors IS NOT NULL OR tasks.schedule LIKE '{"kind":"after"%' ORDER BY tasks.seq

-- name: doubtful_chain_rows
SELECT {chain_row_columns}, tasks.id FROM @chain_rows JOIN @tasks ON tasks.seq = chain_rows.task
WHERE chain_rows.state = 'open' OR (chain_rows.state = 'fired' AND chain_rows.planned IS NULL)
ORDER BY chain_rows.task, chain_rows.root

-- name: drop_chain_rows
DELETE FROM @chain_rows WHERE (task, root) IN (
  SELECT task, root FROM @chain_rows WHERE updated < $1 ORDER BY updated LIMIT $2
)

-- name: drop_unused_lane_turns
DELETE FROM @lane_turns WHERE lane IN (
  SELECT lane FROM @lane_turns
  WHERE NOT EXISTS (SELECT 1 FROM @lane_slots WHERE lane_slots.lane = lane_turns.lane)
    AND NOT EXISTS (SELECT 1 FROM @agenda WHERE state = 3 AND agenda.lane = lane_turns.lane)
  LIMIT 1000 FOR UPDATE SKIP LOCKED
)
