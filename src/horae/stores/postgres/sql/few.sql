-- A few ordinary tasks, claimed or settled without a transaction that is begun and ended: one statement looks and holds
-- nothing, and one writes what was decided, as far as all is still as it was seen. What stands for that is the version of a
-- task, which rises with whatever a decision says of it.

-- name: few_due
-- Nobody's row where there is no such node, one without a task where nothing is due. A token is taken only for what is due.
-- Of what is long, nobody has to be told who may know it already.
SELECT
  CASE WHEN agenda.task IS NOT NULL THEN (SELECT nextval('@tokens')) END,
  (SELECT due FROM @agenda AS later WHERE stand = 0 AND due > $2 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda AS ready WHERE stand = 1 AND due > 0 ORDER BY due LIMIT 1),
  NOT EXISTS (SELECT 1 FROM @lanes WHERE seats IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM @barred),
  {entry_columns},
  tasks.seq, tasks.id, tasks.owner, tasks.name, tasks.schedule, tasks.target_kind, tasks.target_spec,
  CASE WHEN octet_length(tasks.payload) <= 8192 THEN tasks.payload END,
  tasks.policies, tasks.created, tasks.key, tasks.lane, tasks.labels, tasks.version,
  {standing_columns},
  (SELECT 1 FROM @going WHERE going.task = agenda.task LIMIT 1) IS NOT NULL,
  (SELECT count(*) FROM @agenda AS queued WHERE queued.task = agenda.task)
FROM @nodes
LEFT JOIN LATERAL (
  SELECT * FROM @agenda AS each WHERE each.stand = 0 AND each.due <= $2 ORDER BY each.due, each.task, each.slot LIMIT $3
) AS agenda ON true
LEFT JOIN @tasks ON tasks.seq = agenda.task
LEFT JOIN @standings ON standings.task = agenda.task
WHERE nodes.id = $1

-- name: claim_few
-- The node first, then what nobody else holds and nobody has changed. Where the ledger has one of the runs, nothing is
-- written. What comes back: whether the node is there, how many runs are new, which tasks were claimed, and the heads of
-- the agenda without what this takes from it.
WITH
  here AS MATERIALIZED (SELECT 1 FROM @nodes WHERE id = $14 FOR KEY SHARE),
  one AS MATERIALIZED (
    SELECT * FROM unnest(
      $1::text::bigint[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::text[], $6::text::text[],
      $7::text::bigint[], $8::text::text[], $9::text::bigint[], $17::text::bigint[], $18::text::bigint[]
    ) WITH ORDINALITY AS each (
      task, version, slot, stood_for, id, owner, planned, task_id, due, next_due, next_planned, place
    )
  ),
  fresh AS MATERIALIZED (
    SELECT count(*) AS number, (SELECT count(*) FROM one AS all_of_them) AS wanted FROM one WHERE (
      SELECT 1 FROM @runs
      WHERE runs.task = one.task AND runs.planned = one.planned AND runs.attempt = $11
        AND runs.origin >= $10 AND runs.origin <= $10
      ORDER BY runs.origin LIMIT 1
    ) IS NULL
  ),
  held AS MATERIALIZED (
    SELECT one.* FROM one
    JOIN @standings ON standings.task = one.task
    JOIN @agenda ON agenda.task = one.task AND agenda.slot = one.slot
    WHERE (SELECT count(*) FROM here) = 1 AND (SELECT number = wanted FROM fresh)
      AND NOT EXISTS (SELECT 1 FROM @lanes WHERE seats IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM @barred)
      AND standings.version = one.version AND agenda.due = one.stood_for AND agenda.stand IN (0, 1)
    FOR UPDATE OF standings, agenda SKIP LOCKED
  ),
  stood AS (
    UPDATE @standings SET version = standings.version + 1, counted = standings.counted + 1
    FROM held WHERE standings.task = held.task
  ),
  taken AS (
    DELETE FROM @agenda USING held
    WHERE agenda.task = held.task AND agenda.slot = held.slot AND held.next_due IS NULL
  ),
  moved AS (
    UPDATE @agenda SET due = held.next_due, planned = held.next_planned, stand = 0 FROM held
    WHERE agenda.task = held.task AND agenda.slot = held.slot AND held.next_due IS NOT NULL
  ),
  born AS (
    INSERT INTO @going (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started)
    SELECT id, task, owner, $10::text, planned, due, $11::integer, $12::text, $13::bigint, $14::text, $15::bigint, $16::bigint
    FROM held RETURNING task
  ),
  mine AS (SELECT pg_current_xact_id()::text::bigint + shift AS tx FROM @numbering),
  sum AS (
    INSERT INTO @told (tx, size) SELECT tx, (SELECT count(*) FROM held) FROM mine WHERE (SELECT count(*) FROM held) > 0
  ),
  events_told AS (
    INSERT INTO @events (tx, place, kind, at, owner, task_id, run_id)
    SELECT mine.tx, row_number() OVER (ORDER BY place) - 1, 'run.started', $15, owner, task_id, id FROM held, mine
  )
SELECT
  (SELECT count(*) FROM here), (SELECT number FROM fresh), (SELECT string_agg(task::text, ',') FROM born),
  (
    SELECT due FROM @agenda WHERE stand = 0
      AND NOT EXISTS (SELECT 1 FROM held WHERE held.task = agenda.task AND held.slot = agenda.slot)
    ORDER BY due, task, slot LIMIT 1
  ),
  (SELECT due FROM @agenda WHERE stand = 1 AND due > 0 ORDER BY due LIMIT 1)

-- name: few_carried
SELECT
  task, version, NOT EXISTS (SELECT 1 FROM @lanes WHERE seats IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM @barred),
  (
    SELECT json_agg(json_build_array({entry_columns}) ORDER BY slot)::text FROM @agenda
    WHERE agenda.task = standings.task
  )
FROM @standings WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[])

-- name: settle_few
-- All of them, or none: nothing is written where another transaction has changed one of the tasks, and the answer is 0.
-- The standings are locked first, in the order of their numbers, so that two transactions never deadlock on the same tasks;
-- a task that changed meanwhile has another version and is not among the locked ones. Every change of a run raises the
-- version of its task, so the rows in going need no lock of their own.
WITH
  one AS MATERIALIZED (
    SELECT * FROM unnest(
      $1::text::bigint[], $2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::bigint[],
      $6::text::integer[], $7::text::text[], $8::text::text[], $9::text::smallint[], $18::text::bigint[]
    ) AS each (task, id, task_id, started, ended, spot, result, last_result, goes_on, version)
  ),
  locked AS MATERIALIZED (
    SELECT standings.task FROM one
    JOIN @standings ON standings.task = one.task AND standings.version = one.version
    JOIN @going ON going.id = one.id
    WHERE NOT EXISTS (SELECT 1 FROM @lanes WHERE seats IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM @barred)
    ORDER BY standings.task
    FOR NO KEY UPDATE OF standings
  ),
  sure AS MATERIALIZED (
    SELECT * FROM one WHERE (SELECT count(*) FROM locked) = (SELECT count(*) FROM one AS wanted)
  ),
  stood AS (
    UPDATE @standings SET
      version = standings.version + 1, state = CASE WHEN sure.goes_on IS NULL THEN 'completed' ELSE standings.state END,
      failures = 0, last_end = sure.ended, last_result = sure.last_result,
      ended = CASE WHEN sure.goes_on IS NULL THEN sure.ended ELSE standings.ended END
    FROM sure WHERE standings.task = sure.task
  ),
  gone AS (
    DELETE FROM @going USING sure WHERE going.id = sure.id
    RETURNING
      going.id, going.task, going.owner, going.origin, going.planned, going.due, going.attempt, going.token, going.node,
      going.claimed, sure.started, sure.ended, going.span_first, going.span_last, going.span_count, going.forgiven,
      going.deaths, going.alone, going.in_order, going.cancel, going.lanes, sure.result, sure.task_id, sure.spot, sure.goes_on
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
    WHERE (SELECT count(*) FROM sure) > 0
  ),
  mine AS (SELECT pg_current_xact_id()::text::bigint + shift AS tx FROM @numbering),
  sum AS (INSERT INTO @told (tx, size) SELECT tx, $14::integer FROM mine WHERE (SELECT count(*) FROM sure) > 0),
  bundled AS (
    INSERT INTO @bundles (tx, place, size, kinds, owner, at, task_ids, run_ids)
    SELECT tx, $15::integer, $14::integer - $15::integer, $16::text, $17::text, $5, $3, $2 FROM mine
    WHERE $16 IS NOT NULL AND (SELECT count(*) FROM sure) > 0
  ),
  events_told AS (
    INSERT INTO @events (tx, place, kind, at, owner, task_id, run_id)
    SELECT mine.tx, spot + step, kind, ended, owner, task_id, run_id
    FROM gone CROSS JOIN LATERAL (
      VALUES (0, 'run.succeeded', gone.id), (1, 'task.completed', NULL)
    ) AS event (step, kind, run_id), mine
    WHERE $16 IS NULL AND (step = 0 OR goes_on IS NULL)
  )
SELECT count(*) FROM sure
