-- What a decision says, written down. Arrays are columns: one value for each row.

-- name: task_numbers
SELECT nextval('@task_numbers') FROM generate_series(1, $1::integer)

-- name: insert_tasks
INSERT INTO @tasks (
  seq, id, owner, name, schedule, target_kind, target_spec, payload, policies, created, key, lane, labels, version
)
SELECT * FROM unnest(
  $1::text::bigint[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::text[], $9::text::text[],
  $10::text::bigint[], $11::text::text[], $12::text::text[], $13::text::text[], $14::text::bigint[]
)

-- name: update_task
UPDATE @tasks SET
  id = $1, owner = $2, name = $3, schedule = $4, target_kind = $5, target_spec = $6, payload = $7, policies = $8,
  created = $9, key = $10, lane = $11, labels = $12, version = $13
WHERE seq = $14

-- name: insert_standings
INSERT INTO @standings (
  task, version, state, counted, failures, skips_left, last_end, last_result, paused_since, pause_cause, pause_note,
  pause_until, reason, ended
)
SELECT * FROM unnest(
  $1::text::bigint[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::bigint[], $6::text::bigint[], $7::text::bigint[], $8::text::text[],
  $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::text[], $14::text::bigint[]
)

-- name: put_standings
UPDATE @standings SET
  version = put.version, state = put.state, counted = put.counted, failures = put.failures,
  skips_left = put.skips_left, last_end = put.last_end, last_result = put.last_result,
  paused_since = put.paused_since, pause_cause = put.pause_cause, pause_note = put.pause_note,
  pause_until = put.pause_until, reason = put.reason, ended = put.ended
FROM unnest(
  $1::text::bigint[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::bigint[], $6::text::bigint[], $7::text::bigint[], $8::text::text[],
  $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::text[], $14::text::bigint[]
) AS put (
  task, version, state, counted, failures, skips_left, last_end, last_result, paused_since, pause_cause, pause_note,
  pause_until, reason, ended
)
WHERE standings.task = put.task

-- name: put_entries
INSERT INTO @agenda (
  task, slot, kind, due, planned, owner, priority, stand, origin, attempt, forgiven, deaths, through, span_first,
  span_last, span_count, waited, in_order, lane, run_id
)
SELECT * FROM unnest(
  $1::text::bigint[], $2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::bigint[], $6::text::text[], $7::text::integer[], $8::text::smallint[],
  $9::text::text[], $10::text::integer[], $11::text::integer[], $12::text::integer[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[],
  $16::text::bigint[], $17::text::smallint[], $18::text::smallint[], $19::text::text[], $20::text::text[]
)
ON CONFLICT (task, slot) DO UPDATE SET
  kind = excluded.kind, due = excluded.due, planned = excluded.planned, owner = excluded.owner,
  priority = excluded.priority, stand = excluded.stand, origin = excluded.origin, attempt = excluded.attempt,
  forgiven = excluded.forgiven, deaths = excluded.deaths, through = excluded.through, span_first = excluded.span_first,
  span_last = excluded.span_last, span_count = excluded.span_count, waited = excluded.waited,
  in_order = excluded.in_order, lane = excluded.lane, run_id = excluded.run_id

-- name: drop_entries
DELETE FROM @agenda USING unnest($1::text::bigint[], $2::text::text[]) AS gone (task, slot)
WHERE agenda.task = gone.task AND agenda.slot = gone.slot

-- name: empty_agendas
DELETE FROM @agenda WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[])

-- name: made
SELECT 1 FROM @runs WHERE task = $1 AND planned = $2 AND attempt = $3 AND origin = $4
UNION ALL
SELECT 1 FROM @runs WHERE stray = 1 AND id = $5
UNION ALL
SELECT 1 FROM @going WHERE task = $1 AND planned = $2 AND attempt = $3 AND origin = $4
UNION ALL
SELECT 1 FROM @going WHERE id = $5

-- name: start_runs
-- As nearly all of them begin: what is not named here has its default. What the ledger has is not born again, and whoever
-- asked sees that by the number of rows.
INSERT INTO @going (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started)
SELECT * FROM unnest(
  $1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::integer[], $8::text::text[],
  $9::text::bigint[], $10::text::text[], $11::text::bigint[], $12::text::bigint[]
) AS born (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started)
WHERE (
  SELECT 1 FROM @runs WHERE runs.task = born.task AND runs.planned = born.planned AND runs.attempt = born.attempt
    AND runs.origin >= born.origin AND runs.origin <= born.origin
  ORDER BY runs.origin LIMIT 1
) IS NULL
ON CONFLICT DO NOTHING
RETURNING 1

-- name: bear_runs
INSERT INTO @going ({row_columns})
SELECT * FROM unnest(
  $1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::integer[], $8::text::text[],
  $9::text::text[], $10::text::bigint[], $11::text::text[], $12::text::bigint[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::bigint[],
  $17::text::bigint[], $18::text::bigint[], $19::text::integer[], $20::text::integer[], $21::text::smallint[], $22::text::smallint[], $23::text::text[],
  $24::text::text[], $25::text::text[], $26::text::text[]
) AS born ({row_columns})
WHERE (
  SELECT 1 FROM @runs WHERE runs.task = born.task AND runs.planned = born.planned AND runs.attempt = born.attempt
    AND runs.origin >= born.origin AND runs.origin <= born.origin
  ORDER BY runs.origin LIMIT 1
) IS NULL
ON CONFLICT DO NOTHING
RETURNING 1

-- name: put_going
INSERT INTO @going ({row_columns})
SELECT * FROM unnest(
  $1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::integer[], $8::text::text[],
  $9::text::text[], $10::text::bigint[], $11::text::text[], $12::text::bigint[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::bigint[],
  $17::text::bigint[], $18::text::bigint[], $19::text::integer[], $20::text::integer[], $21::text::smallint[], $22::text::smallint[], $23::text::text[],
  $24::text::text[], $25::text::text[], $26::text::text[]
)
ON CONFLICT (id) DO UPDATE SET
  state = excluded.state, reason = excluded.reason, token = excluded.token, node = excluded.node,
  claimed = excluded.claimed, started = excluded.started, ended = excluded.ended, deadline = excluded.deadline,
  span_first = excluded.span_first, span_last = excluded.span_last, span_count = excluded.span_count,
  forgiven = excluded.forgiven, deaths = excluded.deaths, alone = excluded.alone, in_order = excluded.in_order,
  cancel = excluded.cancel, lanes = excluded.lanes, result = excluded.result, error = excluded.error

-- name: end_runs
-- As nearly all of them end: what is not named here stays as it was.
WITH gone AS (
  DELETE FROM @going USING unnest(
    $1::text::text[], $2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::bigint[], $6::text::bigint[], $7::text::text[], $8::text::text[]
  ) AS last (id, state, reason, started, ended, deadline, result, error)
  WHERE going.id = last.id
  RETURNING
    going.id, going.task, going.owner, going.origin, going.planned, going.due, going.attempt, last.state, last.reason,
    going.token, going.node, going.claimed, last.started, last.ended, last.deadline, going.span_first, going.span_last,
    going.span_count, going.forgiven, going.deaths, going.alone, going.in_order, going.cancel, going.lanes, last.result,
    last.error
)
INSERT INTO @runs ({row_columns}) SELECT * FROM gone

-- name: drop_going
DELETE FROM @going WHERE id = ANY ((SELECT $1::text::text[])::text[])

-- name: insert_runs
INSERT INTO @runs ({row_columns}, stray)
SELECT * FROM unnest(
  $1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::integer[], $8::text::text[],
  $9::text::text[], $10::text::bigint[], $11::text::text[], $12::text::bigint[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::bigint[],
  $17::text::bigint[], $18::text::bigint[], $19::text::integer[], $20::text::integer[], $21::text::smallint[], $22::text::smallint[], $23::text::text[],
  $24::text::text[], $25::text::text[], $26::text::text[], $27::text::smallint[]
) AS over ({row_columns}, stray)
WHERE NOT EXISTS (
  SELECT 1 FROM @going WHERE going.task = over.task AND going.planned = over.planned AND going.attempt = over.attempt
    AND going.origin = over.origin
)
ON CONFLICT DO NOTHING
RETURNING 1

-- name: take_seats
INSERT INTO @seats (lane, run_id) SELECT * FROM unnest($1::text::text[], $2::text::text[])

-- name: leave_seats
DELETE FROM @seats USING unnest($1::text::text[], $2::text::text[]) AS gone (lane, run_id)
WHERE seats.lane = gone.lane AND seats.run_id = gone.run_id

-- name: insert_events
-- `told` has one row for each transaction, however often it tells.
WITH
  mine AS (SELECT pg_current_xact_id()::text::bigint + shift AS tx FROM @numbering),
  sum AS (
    INSERT INTO @told (tx, size) SELECT tx, $1::integer + cardinality($2::text::text[]) FROM mine
    ON CONFLICT (tx) DO UPDATE SET size = excluded.size
  )
INSERT INTO @events (tx, place, kind, at, owner, task_id, run_id, detail)
SELECT mine.tx, $1::integer + place - 1, kind, at, owner, task_id, run_id, detail
FROM mine, unnest($2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[])
  WITH ORDINALITY AS event (kind, at, owner, task_id, run_id, detail, place)

-- name: count
INSERT INTO @counted (owner, hour, name, number) SELECT * FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[])

-- name: write_starts
-- All that an ordinary claim writes, in one round trip: standings, agenda, runs, events. What differs from run to run
-- comes in arrays, what they share comes once, and what is told of runs of one owner is one row. The limit keeps the planner from joining where it should look up, and the
-- order, which only one index has, from taking another one while it believes that the ledger is empty.
WITH
  one AS MATERIALIZED (
    SELECT * FROM unnest(
      $1::text::bigint[], $2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::text[]
    ) WITH ORDINALITY AS each (task, id, owner, planned, task_id, place)
  ),
  stood AS (
    UPDATE @standings SET version = standings.version + 1, counted = standings.counted + 1
    FROM one WHERE standings.task = one.task
  ),
  taken AS (DELETE FROM @agenda WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[])),
  born AS (
    INSERT INTO @going (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started)
    SELECT id, task, owner, $6::text, planned, planned, $7::integer, $8::text, $9::bigint, $10::text, $11::bigint, $12::bigint
    FROM one WHERE (
      SELECT 1 FROM @runs
      WHERE runs.task = one.task AND runs.planned = one.planned AND runs.attempt = $7
        AND runs.origin >= $6 AND runs.origin <= $6
      ORDER BY runs.origin LIMIT 1
    ) IS NULL
    RETURNING 1
  ),
  mine AS (SELECT pg_current_xact_id()::text::bigint + shift AS tx FROM @numbering),
  sum AS (
    INSERT INTO @told (tx, size) SELECT tx, $13::integer + (SELECT count(*) FROM one) FROM mine
    ON CONFLICT (tx) DO UPDATE SET size = excluded.size
  ),
  bundled AS (
    INSERT INTO @bundles (tx, place, size, kinds, owner, at, task_ids, run_ids)
    SELECT tx, $13::integer, (SELECT count(*) FROM one), '{run.started}', $14::text, '{' || $11 || '}', $5, $2
    FROM mine WHERE $14 IS NOT NULL
  ),
  events_told AS (
    INSERT INTO @events (tx, place, kind, at, owner, task_id, run_id)
    SELECT mine.tx, $13::integer + place - 1, 'run.started', $11, owner, task_id, id FROM mine, one WHERE $14 IS NULL
  )
SELECT count(*) FROM born

-- name: write_ends
-- All that an ordinary settlement writes: standings, runs that have succeeded and move to the ledger, counts, events. A
-- task that does not go on is completed. `spot` is the place of the first event of each; where the same is told of all of them,
-- it is one row.
WITH
  one AS MATERIALIZED (
    SELECT * FROM unnest(
      $1::text::bigint[], $2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::bigint[],
      $6::text::integer[], $7::text::text[], $8::text::text[], $9::text::smallint[]
    ) AS each (task, id, task_id, started, ended, spot, result, last_result, goes_on)
  ),
  stood AS (
    UPDATE @standings SET
      version = standings.version + 1, state = CASE WHEN one.goes_on IS NULL THEN 'completed' ELSE standings.state END,
      failures = 0, last_end = one.ended, last_result = one.last_result,
      ended = CASE WHEN one.goes_on IS NULL THEN one.ended ELSE standings.ended END
    FROM one WHERE standings.task = one.task
  ),
  gone AS (
    DELETE FROM @going USING one WHERE going.id = one.id
    RETURNING
      going.id, going.task, going.owner, going.origin, going.planned, going.due, going.attempt, going.token, going.node,
      going.claimed, one.started, one.ended, going.span_first, going.span_last, going.span_count, going.forgiven,
      going.deaths, going.alone, going.in_order, going.cancel, going.lanes, one.result, one.task_id, one.spot, one.goes_on
  ),
  over AS (
    INSERT INTO @runs ({row_columns})
    SELECT
      id, task, owner, origin, planned, due, attempt, 'succeeded', NULL, token, node, claimed, started, ended, NULL,
      span_first, span_last, span_count, forgiven, deaths, alone, in_order, cancel, lanes, result, NULL
    FROM gone
  ),
  counts AS (
    INSERT INTO @counted (owner, hour, name, number)
    SELECT * FROM unnest($10::text::text[], $11::text::bigint[], $12::text::text[], $13::text::bigint[])
  ),
  mine AS (SELECT pg_current_xact_id()::text::bigint + shift AS tx FROM @numbering),
  sum AS (
    INSERT INTO @told (tx, size) SELECT tx, $14::integer FROM mine
    ON CONFLICT (tx) DO UPDATE SET size = excluded.size
  ),
  bundled AS (
    INSERT INTO @bundles (tx, place, size, kinds, owner, at, task_ids, run_ids)
    SELECT tx, $15::integer, $14::integer - $15::integer, $16::text, $17::text, $5, $3, $2 FROM mine WHERE $16 IS NOT NULL
  ),
  events_told AS (
    INSERT INTO @events (tx, place, kind, at, owner, task_id, run_id)
    SELECT mine.tx, spot + step, kind, ended, owner, task_id, run_id
    FROM mine, gone CROSS JOIN LATERAL (
      VALUES (0, 'run.succeeded', gone.id), (1, 'task.completed', NULL)
    ) AS event (step, kind, run_id)
    WHERE $16 IS NULL AND (step = 0 OR goes_on IS NULL)
  )
SELECT count(*) FROM gone

-- name: delete_task
-- With all that belongs to it.
WITH
  said AS (
    DELETE FROM @lines WHERE run_id IN (
      SELECT id FROM @runs WHERE task = $1 UNION ALL SELECT id FROM @going WHERE task = $1
    )
  ),
  ran AS (DELETE FROM @runs WHERE task = $1),
  runs_now AS (DELETE FROM @going WHERE task = $1),
  stood AS (DELETE FROM @standings WHERE task = $1)
DELETE FROM @tasks WHERE seq = $1
