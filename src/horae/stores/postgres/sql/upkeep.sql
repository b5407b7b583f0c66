-- What the janitor and an operator need.

-- name: old
-- One statement, because an idle node asks for nothing else. A run that is too old was planned before that as well, and
-- runs are in the order of their plans; events go from the oldest on, up to the first one that is to stay.
SELECT
  (
    SELECT json_agg(json_build_array(task, planned, attempt, origin, id))::text FROM (
      SELECT task, planned, attempt, origin, id FROM @runs
      WHERE planned + 0 < $1 AND ended < $1 ORDER BY planned + 0 LIMIT $2
    ) AS old_runs
  ),
  (
    SELECT json_agg(task)::text FROM (
      SELECT task FROM @standings
      WHERE ended IS NOT NULL AND ended < $1 AND state IN ('completed', 'failed', 'cancelled')
        AND NOT EXISTS (SELECT 1 FROM @runs WHERE runs.task = standings.task)
        AND NOT EXISTS (SELECT 1 FROM @going WHERE going.task = standings.task)
        AND NOT EXISTS (SELECT 1 FROM @agenda WHERE agenda.task = standings.task)
      ORDER BY ended LIMIT $2
    ) AS old_tasks
  ),
  (
    WITH oldest AS MATERIALIZED (
      SELECT first + place AS number, at FROM (SELECT {told_columns}) AS events
      WHERE first IS NOT NULL AND first < $2 + (
        SELECT first + size FROM @told AS earliest WHERE first IS NOT NULL ORDER BY first LIMIT 1
      )
      ORDER BY first, place LIMIT $2
    )
    SELECT json_agg(number ORDER BY number)::text FROM oldest
    WHERE number < coalesce((SELECT min(number) FROM oldest WHERE at >= $1), 9223372036854775807)
  ),
  (SELECT last FROM @numbering),
  EXISTS (SELECT 1 FROM @counted)

-- name: crowded
-- Of so many tasks at a time: the ledger of all of them may take minutes to count.
SELECT task FROM @runs WHERE task > $1 AND task <= $4 GROUP BY task HAVING count(*) > $2 ORDER BY task LIMIT $3

-- name: highest_task
SELECT coalesce(max(seq), 0) FROM @tasks

-- name: recent
-- Up to which event the next so many tell of runs.
SELECT coalesce(
  (
    SELECT first + place FROM (SELECT {told_columns}) AS events
    WHERE first >= coalesce((SELECT max(first) FROM @told WHERE first <= $1::bigint + 1), 0)
      AND first + place > $1 AND run_id IS NOT NULL
    ORDER BY first, place LIMIT 1 OFFSET $2::bigint - 1
  ),
  $3
)

-- name: crowded_of_late
-- Each looked up by itself: how many there are of anything, the planner may have learnt when there were none.
SELECT late.task FROM (
  SELECT DISTINCT tasks.seq AS task FROM (SELECT {told_columns}) AS events
  CROSS JOIN LATERAL (SELECT seq FROM @tasks AS each WHERE each.id = events.task_id ORDER BY each.id LIMIT 1) AS tasks
  WHERE first >= coalesce((SELECT max(first) FROM @told WHERE first <= $1::bigint + 1), 0)
    AND first <= $2 AND first + place > $1 AND first + place <= $2 AND run_id IS NOT NULL
) AS late
WHERE (
  SELECT count(*) FROM (
    SELECT 1 FROM @runs WHERE runs.task = late.task ORDER BY planned, attempt, origin LIMIT $3::bigint + 1
  ) AS counted_so_far
) > $3::bigint
ORDER BY late.task

-- name: surplus
-- The oldest of those that are not among the newest.
SELECT task, planned, attempt, origin, id FROM @runs WHERE task = $1 ORDER BY planned, attempt, id
LIMIT greatest(0, least($3::bigint, (SELECT count(*) FROM @runs WHERE task = $1) - $2::bigint))

-- name: still_over
-- Without a run as well: one that has ended since it was looked at is not to be forgotten yet.
SELECT task, state, (SELECT owner FROM @tasks WHERE tasks.seq = standings.task) FROM @standings
WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[]) AND state IN ('completed', 'failed', 'cancelled') AND ended < $2
  AND NOT EXISTS (SELECT 1 FROM @runs WHERE runs.task = standings.task)
  AND NOT EXISTS (SELECT 1 FROM @going WHERE going.task = standings.task)
  AND NOT EXISTS (SELECT 1 FROM @agenda WHERE agenda.task = standings.task)

-- name: drop_runs
DELETE FROM @runs USING unnest($1::text::bigint[], $2::text::bigint[], $3::text::integer[], $4::text::text[]) AS old (task, planned, attempt, origin)
WHERE runs.task = old.task AND runs.planned = old.planned AND runs.attempt = old.attempt AND runs.origin = old.origin
RETURNING 1

-- name: drop_lines
DELETE FROM @lines WHERE run_id = ANY ((SELECT $1::text::text[])::text[])

-- name: drop_events
-- Of the one bundle that is old in part, only how much of it is gone is written. `removed_events` counts what was removed of
-- each owner: the number that an owner sees includes it.
WITH
  old AS MATERIALIZED (SELECT tx, size, first FROM @told WHERE first <= $1),
  cut AS MATERIALIZED (
    SELECT bundles.spot, bundles.gone, bundles.size, least(bundles.size, $1 - old.first - bundles.place + 1)::integer AS reach
    FROM old CROSS JOIN LATERAL (
      SELECT each.ctid AS spot, each.* FROM @bundles AS each WHERE each.tx = old.tx ORDER BY each.place
    ) AS bundles
    WHERE old.first + bundles.place + bundles.gone <= $1
  ),
  forgotten AS (DELETE FROM @told USING old WHERE told.tx = old.tx AND old.first + old.size - 1 <= $1),
  whole AS (
    DELETE FROM @bundles WHERE ctid = ANY (ARRAY(SELECT spot FROM cut WHERE reach = size)) RETURNING owner, size - gone AS number
  ),
  part AS (
    UPDATE @bundles SET gone = (SELECT reach FROM cut WHERE reach < size)
    WHERE ctid = (SELECT spot FROM cut WHERE reach < size)
    RETURNING owner
  ),
  single AS (DELETE FROM @events USING old WHERE events.tx = old.tx AND old.first + events.place <= $1 RETURNING owner),
  removed AS (
    SELECT owner, count(*) AS number FROM single GROUP BY owner
    UNION ALL
    SELECT owner, number FROM whole
    UNION ALL
    SELECT part.owner, cut.reach - cut.gone FROM part, cut WHERE cut.reach < cut.size
  ),
  kept_counts AS (
    INSERT INTO @records (kind, key, owner, body, version)
    SELECT 'removed_events', owner, owner, sum(number)::bigint::text, 1 FROM removed GROUP BY owner ORDER BY owner
    ON CONFLICT (kind, key) DO UPDATE
    SET body = (records.body::bigint + excluded.body::bigint)::text, version = records.version + 1
  )
SELECT 1 FROM single UNION ALL SELECT 1 FROM cut CROSS JOIN LATERAL generate_series(cut.gone + 1, cut.reach)

-- name: fold_counts
-- One at a time; whoever comes second has nothing to do.
WITH
  mine AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(hashtext('@counted'), 1) AS alone),
  taken AS (DELETE FROM @counted WHERE (SELECT alone FROM mine) RETURNING owner, hour, name, number),
  sums AS (
    SELECT owner, hour, name, sum(number) AS number FROM taken GROUP BY owner, hour, name
    UNION ALL
    SELECT '', hour, name, sum(number) FROM taken GROUP BY hour, name
  )
INSERT INTO @tallies (owner, hour, name, number) SELECT owner, hour, name, number FROM sums ORDER BY hour, owner, name
ON CONFLICT (hour, owner, name) DO UPDATE SET number = tallies.number + excluded.number

-- name: drop_tallies
-- As seen from the newest hour, but not from one that is still to come.
DELETE FROM @tallies WHERE hour BETWEEN 1 AND least($1::bigint, (SELECT max(hour) FROM @tallies)) - $2::bigint

-- name: drop_unused_lanes
-- Rows that only served to hold a lane nobody has set a limit for.
DELETE FROM @lanes WHERE name IN (
  SELECT name FROM @lanes WHERE seats IS NULL
    AND NOT EXISTS (SELECT 1 FROM @seats WHERE lane = name)
    AND NOT EXISTS (SELECT 1 FROM @agenda WHERE stand = 3 AND agenda.lane = lanes.name)
  LIMIT 1000 FOR UPDATE SKIP LOCKED
)

-- name: orphan_entries
SELECT slot, task FROM @agenda WHERE NOT EXISTS (SELECT 1 FROM @tasks WHERE tasks.seq = agenda.task)

-- name: orphan_runs
SELECT id, task FROM @runs WHERE NOT EXISTS (SELECT 1 FROM @tasks WHERE tasks.seq = runs.task)
UNION ALL
SELECT id, task FROM @going WHERE NOT EXISTS (SELECT 1 FROM @tasks WHERE tasks.seq = going.task)

-- name: tasks_without_standing
SELECT id FROM @tasks WHERE NOT EXISTS (SELECT 1 FROM @standings WHERE standings.task = tasks.seq)

-- name: mislabelled_tasks
SELECT coalesce(min(tasks.id), 'number ' || told.task) FROM (
  SELECT label, task, owner, 1 AS way FROM @labels
  UNION ALL
  SELECT DISTINCT each.value::text, tasks.seq, tasks.owner, -1
  FROM @tasks CROSS JOIN LATERAL json_array_elements(tasks.labels::json) AS each WHERE tasks.labels <> '[]'
) AS told LEFT JOIN @tasks ON tasks.seq = told.task
GROUP BY told.task, told.label, told.owner HAVING sum(way) <> 0 ORDER BY told.task

-- name: wrong_seats
SELECT lane, sum(taken)::bigint, sum(sitting)::bigint FROM (
  SELECT lane, count(*) AS taken, 0 AS sitting FROM @seats GROUP BY lane
  UNION ALL
  SELECT lane.value, 0, count(DISTINCT going.id) FROM @going, jsonb_array_elements_text(going.lanes::jsonb) AS lane (value)
  WHERE going.lanes IS NOT NULL GROUP BY lane.value
) AS both_ways GROUP BY lane HAVING sum(taken) <> sum(sitting) ORDER BY lane

-- name: forgotten_tasks
SELECT tasks.id FROM @tasks JOIN @standings ON standings.task = tasks.seq
WHERE standings.state = 'active'
  AND NOT EXISTS (SELECT 1 FROM @going WHERE going.task = tasks.seq)
  AND NOT EXISTS (SELECT 1 FROM @agenda WHERE agenda.task = tasks.seq)
ORDER BY tasks.id

-- name: miscounted_states
SELECT owner, name, sum(counted)::bigint, sum(found)::bigint FROM (
  SELECT owner, name, number AS counted, 0 AS found FROM @tallies WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT owner, name, number, 0 FROM @counted WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT '', name, number, 0 FROM @counted WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT tasks.owner, 'state:' || standings.state, 0, count(*)
  FROM @tasks JOIN @standings ON standings.task = tasks.seq GROUP BY tasks.owner, standings.state
  UNION ALL
  SELECT '', 'state:' || state, 0, count(*) FROM @standings GROUP BY state
) AS all_ways GROUP BY owner, name HAVING sum(counted) <> sum(found) ORDER BY owner, name

-- name: both_live_and_over
SELECT going.id FROM @going JOIN @runs ON runs.task = going.task AND runs.planned = going.planned
  AND runs.attempt = going.attempt AND runs.origin = going.origin
