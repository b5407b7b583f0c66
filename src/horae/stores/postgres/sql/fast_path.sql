-- Fast path: claims or settles a few ordinary tasks without an explicit transaction. One statement reads without locks, and
-- one writes what was decided if nothing has changed meanwhile (optimistic locking): every decision on a task raises its
-- version.

-- name: read_few_due
-- No row if the node does not exist, one row without a task if nothing is due. A fencing token is taken only if an entry is
-- due. The second column is the next due instant, or that of a lane to wake, which may be past. The fourth says whether
-- the owner has no limit and is not blocked. A long payload is left out: the node may have it in its cache.
SELECT
  CASE WHEN agenda.task IS NOT NULL THEN (SELECT nextval('@tokens')) END,
  least(
    (SELECT due FROM @agenda AS future WHERE state = 0 AND due > $2 ORDER BY due, task, slot LIMIT 1),
    (SELECT wake_at FROM @lanes WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1)
  ),
  (SELECT due FROM @agenda AS ready WHERE state = 1 AND due > 0 ORDER BY due LIMIT 1),
  {unrestricted_filter agenda.owner 0},
  {entry_columns},
  tasks.seq, tasks.id, tasks.owner, tasks.name, tasks.schedule, tasks.target_kind, tasks.target_spec,
  CASE WHEN octet_length(tasks.payload) <= 8192 THEN tasks.payload END,
  tasks.policies, tasks.created, tasks.key, tasks.lane, tasks.labels, tasks.version, tasks.successors,
  {status_columns},
  (SELECT 1 FROM @live_runs WHERE live_runs.task = agenda.task LIMIT 1) IS NOT NULL,
  (SELECT count(*) FROM @agenda AS entries_of_task WHERE entries_of_task.task = agenda.task)
FROM @nodes
LEFT JOIN LATERAL (
  SELECT * FROM @agenda AS due_entry WHERE due_entry.state = 0 AND due_entry.due <= $2
  ORDER BY due_entry.due, due_entry.task, due_entry.slot LIMIT $3
) AS agenda ON true
LEFT JOIN @tasks ON tasks.seq = agenda.task
LEFT JOIN @task_state ON task_state.task = agenda.task
WHERE nodes.id = $1

-- name: claim_few
-- Locks the node first, then the entries that are neither locked nor changed by another transaction. If the ledger has one
-- of the runs, nothing is written. Returns whether the node exists, how many runs are new, which tasks were claimed, and
-- the heads of the agenda without the claimed entries.
WITH
  locked_node AS MATERIALIZED (SELECT 1 FROM @nodes WHERE id = $14 FOR KEY SHARE),
  chosen AS MATERIALIZED (
    SELECT * FROM unnest(
      $1::text::bigint[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::text[], $6::text::text[],
      $7::text::bigint[], $8::text::text[], $9::text::bigint[], $17::text::bigint[], $18::text::bigint[]
    ) WITH ORDINALITY AS given (
      task, version, slot, expected_due, id, owner, planned, task_id, due, next_due, next_planned, place
    )
  ),
  new_runs AS MATERIALIZED (
    SELECT count(*) AS number, (SELECT count(*) FROM chosen AS all_chosen) AS wanted FROM chosen WHERE (
      SELECT 1 FROM @runs
      WHERE runs.task = chosen.task AND runs.planned = chosen.planned AND runs.attempt = $11
        AND runs.origin >= $10 AND runs.origin <= $10
      ORDER BY runs.origin LIMIT 1
    ) IS NULL
  ),
  locked_entries AS MATERIALIZED (
    SELECT chosen.* FROM chosen
    JOIN @task_state ON task_state.task = chosen.task
    JOIN @agenda ON agenda.task = chosen.task AND agenda.slot = chosen.slot
    WHERE (SELECT count(*) FROM locked_node) = 1 AND (SELECT number = wanted FROM new_runs)
      AND {unrestricted_filter chosen.owner 0}
      AND task_state.version = chosen.version AND agenda.due = chosen.expected_due AND agenda.state IN (0, 1)
    FOR UPDATE OF task_state, agenda SKIP LOCKED
  ),
  updated_statuses AS (
    UPDATE @task_state SET version = task_state.version + 1, counted = task_state.counted + 1
    FROM locked_entries WHERE task_state.task = locked_entries.task
  ),
  removed_entries AS (
    DELETE FROM @agenda USING locked_entries
    WHERE agenda.task = locked_entries.task AND agenda.slot = locked_entries.slot AND locked_entries.next_due IS NULL
  ),
  rescheduled_entries AS (
    UPDATE @agenda SET due = locked_entries.next_due, planned = locked_entries.next_planned, state = 0 FROM locked_entries
    WHERE agenda.task = locked_entries.task AND agenda.slot = locked_entries.slot AND locked_entries.next_due IS NOT NULL
  ),
  inserted_runs AS (
    INSERT INTO @live_runs (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started)
    SELECT id, task, owner, $10::text, planned, due, $11::integer, $12::text, $13::bigint, $14::text, $15::bigint, $16::bigint
    FROM locked_entries RETURNING task
  ),
  own_transaction AS (SELECT pg_current_xact_id()::text::bigint + shift AS tx FROM @numbering),
  event_batch AS (
    INSERT INTO @event_batches (tx, size) SELECT tx, (SELECT count(*) FROM locked_entries) FROM own_transaction
    WHERE (SELECT count(*) FROM locked_entries) > 0
  ),
  inserted_events AS (
    INSERT INTO @events (tx, place, kind, at, owner, task_id, run_id)
    SELECT own_transaction.tx, row_number() OVER (ORDER BY place) - 1, 'run.started', $15, owner, task_id, id
    FROM locked_entries, own_transaction
  )
SELECT
  (SELECT count(*) FROM locked_node), (SELECT number FROM new_runs), (SELECT string_agg(task::text, ',') FROM inserted_runs),
  least(
    (
      SELECT due FROM @agenda WHERE state = 0
        AND NOT EXISTS (
          SELECT 1 FROM locked_entries WHERE locked_entries.task = agenda.task AND locked_entries.slot = agenda.slot
        )
      ORDER BY due, task, slot LIMIT 1
    ),
    (SELECT wake_at FROM @lanes WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1)
  ),
  (SELECT due FROM @agenda WHERE state = 1 AND due > 0 ORDER BY due LIMIT 1)

-- name: read_few_live
SELECT
  task, version,
  (
    SELECT json_agg(json_build_array({entry_columns}) ORDER BY slot)::text FROM @agenda
    WHERE agenda.task = task_state.task
  )
FROM @task_state WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[])

-- name: settle_few
-- Settles all of them or none: if another transaction has changed one of the tasks, nothing is written and the result is 0.
-- The status rows are locked first, in the order of task numbers, so that two transactions never deadlock on the same tasks;
-- a task that changed meanwhile has another version and is not among the locked ones. Every change of a run raises the
-- version of its task, so the rows in live_runs need no lock of their own.
WITH
  ending AS MATERIALIZED (
    SELECT * FROM unnest(
      $1::text::bigint[], $2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::bigint[],
      $6::text::integer[], $7::text::text[], $8::text::text[], $9::text::smallint[], $18::text::bigint[]
    ) AS given (task, id, task_id, started, ended, first_place, result, last_result, stays_active, version)
  ),
  locked_tasks AS MATERIALIZED (
    SELECT task_state.task FROM ending
    JOIN @task_state ON task_state.task = ending.task AND task_state.version = ending.version
    JOIN @live_runs ON live_runs.id = ending.id
    ORDER BY task_state.task
    FOR NO KEY UPDATE OF task_state
  ),
  confirmed AS MATERIALIZED (
    SELECT * FROM ending WHERE (SELECT count(*) FROM locked_tasks) = (SELECT count(*) FROM ending AS all_ending)
  ),
  updated_statuses AS (
    UPDATE @task_state SET
      version = task_state.version + 1, state = CASE WHEN confirmed.stays_active IS NULL THEN 'completed' ELSE task_state.state END,
      failures = 0, last_end = confirmed.ended, last_result = confirmed.last_result,
      ended = CASE WHEN confirmed.stays_active IS NULL THEN confirmed.ended ELSE task_state.ended END,
      completed_by_run = CASE WHEN confirmed.stays_active IS NULL THEN 1 ELSE task_state.completed_by_run END
    FROM confirmed WHERE task_state.task = confirmed.task
  ),
  removed_live_runs AS (
    DELETE FROM @live_runs USING confirmed WHERE live_runs.id = confirmed.id
    RETURNING
      live_runs.id, live_runs.task, live_runs.owner, live_runs.origin, live_runs.planned, live_runs.due, live_runs.attempt, live_runs.token, live_runs.node,
      live_runs.claimed, confirmed.started, confirmed.ended, live_runs.span_first, live_runs.span_last, live_runs.span_count, live_runs.forgiven,
      live_runs.deaths, live_runs.alone, live_runs.in_order, live_runs.cancel, live_runs.lanes, confirmed.result, live_runs.input, confirmed.task_id,
      confirmed.first_place, confirmed.stays_active
  ),
  inserted_runs AS (
    INSERT INTO @runs ({row_columns}, completes)
    SELECT
      id, task, owner, origin, planned, due, attempt, 'succeeded', NULL, token, node, claimed, started, ended, NULL,
      span_first, span_last, span_count, forgiven, deaths, alone, in_order, cancel, lanes, result, NULL, input, NULL,
      CASE WHEN stays_active IS NULL THEN 1 END
    FROM removed_live_runs
  ),
  inserted_deltas AS (
    INSERT INTO @counter_deltas (owner, hour, name, number)
    SELECT * FROM unnest($10::text::text[], $11::text::bigint[], $12::text::text[], $13::text::bigint[])
    WHERE (SELECT count(*) FROM confirmed) > 0
  ),
  own_transaction AS (SELECT pg_current_xact_id()::text::bigint + shift AS tx FROM @numbering),
  event_batch AS (
    INSERT INTO @event_batches (tx, size) SELECT tx, $14::integer FROM own_transaction WHERE (SELECT count(*) FROM confirmed) > 0
  ),
  inserted_bundle AS (
    INSERT INTO @packed_events (tx, place, size, kinds, owner, at, task_ids, run_ids)
    SELECT tx, $15::integer, $14::integer - $15::integer, $16::text, $17::text, $5, $3, $2 FROM own_transaction
    WHERE $16 IS NOT NULL AND (SELECT count(*) FROM confirmed) > 0
  ),
  inserted_events AS (
    INSERT INTO @events (tx, place, kind, at, owner, task_id, run_id)
    SELECT own_transaction.tx, first_place + step, kind, ended, owner, task_id, run_id
    FROM removed_live_runs CROSS JOIN LATERAL (
      VALUES (0, 'run.succeeded', removed_live_runs.id), (1, 'task.completed', NULL)
    ) AS event (step, kind, run_id), own_transaction
    WHERE $16 IS NULL AND (step = 0 OR stays_active IS NULL)
  )
SELECT count(*) FROM confirmed

-- name: write_starts
-- Writes an ordinary claim in one round trip: task status, agenda, runs and events. Values that differ between runs are
-- arrays, common values are given once, and events of runs of one owner are one bundle row. $15 has the due instants where one
-- is not the planned one, $16 and $17 those of the following entries, NULL if there are none, and $18 the tasks without one. The LIMIT makes the planner use
-- an index lookup instead of a join, and the ORDER BY makes it use the right index even if it believes the ledger is empty.
WITH
  starting AS MATERIALIZED (
    SELECT * FROM unnest(
      $1::text::bigint[], $2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::text[], $15::text::bigint[],
      $16::text::bigint[], $17::text::bigint[]
    ) WITH ORDINALITY AS given (task, id, owner, planned, task_id, due, next_due, next_planned, place)
  ),
  updated_statuses AS (
    UPDATE @task_state SET version = task_state.version + 1, counted = task_state.counted + 1
    FROM starting WHERE task_state.task = starting.task
  ),
  removed_entries AS (DELETE FROM @agenda WHERE task = ANY ((SELECT $18::text::bigint[])::bigint[])),
  rescheduled_entries AS (
    UPDATE @agenda SET due = starting.next_due, planned = starting.next_planned, state = 0 FROM starting
    WHERE $16 IS NOT NULL AND starting.next_due IS NOT NULL AND agenda.task = starting.task AND agenda.slot = 'next'
  ),
  inserted_runs AS (
    INSERT INTO @live_runs (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started)
    SELECT id, task, owner, $6::text, planned, coalesce(due, planned), $7::integer, $8::text, $9::bigint, $10::text, $11::bigint, $12::bigint
    FROM starting WHERE (
      SELECT 1 FROM @runs
      WHERE runs.task = starting.task AND runs.planned = starting.planned AND runs.attempt = $7
        AND runs.origin >= $6 AND runs.origin <= $6
      ORDER BY runs.origin LIMIT 1
    ) IS NULL
    RETURNING 1
  ),
  own_transaction AS (SELECT pg_current_xact_id()::text::bigint + shift AS tx FROM @numbering),
  event_batch AS (
    INSERT INTO @event_batches (tx, size) SELECT tx, $13::integer + (SELECT count(*) FROM starting) FROM own_transaction
    ON CONFLICT (tx) DO UPDATE SET size = excluded.size
  ),
  inserted_bundle AS (
    INSERT INTO @packed_events (tx, place, size, kinds, owner, at, task_ids, run_ids)
    SELECT tx, $13::integer, (SELECT count(*) FROM starting), '{run.started}', $14::text, '{' || $11 || '}', $5, $2
    FROM own_transaction WHERE $14 IS NOT NULL
  ),
  inserted_events AS (
    INSERT INTO @events (tx, place, kind, at, owner, task_id, run_id)
    SELECT own_transaction.tx, $13::integer + place - 1, 'run.started', $11, owner, task_id, id
    FROM own_transaction, starting WHERE $14 IS NULL
  )
SELECT count(*) FROM inserted_runs

-- name: write_ends
-- Writes an ordinary settlement: task status, successful runs that move to the ledger, counters and events. A task that
-- does not stay active is completed, and its run says so (`completes`). `first_place` is the place of the first event of each run in the transaction; if all
-- runs have the same events, these are one bundle row.
WITH
  ending AS MATERIALIZED (
    SELECT * FROM unnest(
      $1::text::bigint[], $2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::bigint[],
      $6::text::integer[], $7::text::text[], $8::text::text[], $9::text::smallint[]
    ) AS given (task, id, task_id, started, ended, first_place, result, last_result, stays_active)
  ),
  updated_statuses AS (
    UPDATE @task_state SET
      version = task_state.version + 1, state = CASE WHEN ending.stays_active IS NULL THEN 'completed' ELSE task_state.state END,
      failures = 0, last_end = ending.ended, last_result = ending.last_result,
      ended = CASE WHEN ending.stays_active IS NULL THEN ending.ended ELSE task_state.ended END,
      completed_by_run = CASE WHEN ending.stays_active IS NULL THEN 1 ELSE task_state.completed_by_run END
    FROM ending WHERE task_state.task = ending.task
  ),
  removed_live_runs AS (
    DELETE FROM @live_runs USING ending WHERE live_runs.id = ending.id
    RETURNING
      live_runs.id, live_runs.task, live_runs.owner, live_runs.origin, live_runs.planned, live_runs.due, live_runs.attempt, live_runs.token, live_runs.node,
      live_runs.claimed, ending.started, ending.ended, live_runs.span_first, live_runs.span_last, live_runs.span_count, live_runs.forgiven,
      live_runs.deaths, live_runs.alone, live_runs.in_order, live_runs.cancel, live_runs.lanes, ending.result, live_runs.input, ending.task_id,
      ending.first_place, ending.stays_active
  ),
  inserted_runs AS (
    INSERT INTO @runs ({row_columns}, completes)
    SELECT
      id, task, owner, origin, planned, due, attempt, 'succeeded', NULL, token, node, claimed, started, ended, NULL,
      span_first, span_last, span_count, forgiven, deaths, alone, in_order, cancel, lanes, result, NULL, input, NULL,
      CASE WHEN stays_active IS NULL THEN 1 END
    FROM removed_live_runs
  ),
  inserted_deltas AS (
    INSERT INTO @counter_deltas (owner, hour, name, number)
    SELECT * FROM unnest($10::text::text[], $11::text::bigint[], $12::text::text[], $13::text::bigint[])
  ),
  own_transaction AS (SELECT pg_current_xact_id()::text::bigint + shift AS tx FROM @numbering),
  event_batch AS (
    INSERT INTO @event_batches (tx, size) SELECT tx, $14::integer FROM own_transaction
    ON CONFLICT (tx) DO UPDATE SET size = excluded.size
  ),
  inserted_bundle AS (
    INSERT INTO @packed_events (tx, place, size, kinds, owner, at, task_ids, run_ids)
    SELECT tx, $15::integer, $14::integer - $15::integer, $16::text, $17::text, $5, $3, $2 FROM own_transaction WHERE $16 IS NOT NULL
  ),
  inserted_events AS (
    INSERT INTO @events (tx, place, kind, at, owner, task_id, run_id)
    SELECT own_transaction.tx, first_place + step, kind, ended, owner, task_id, run_id
    FROM own_transaction, removed_live_runs CROSS JOIN LATERAL (
      VALUES (0, 'run.succeeded', removed_live_runs.id), (1, 'task.completed', NULL)
    ) AS event (step, kind, run_id)
    WHERE $16 IS NULL AND (step = 0 OR stays_active IS NULL)
  )
SELECT count(*) FROM removed_live_runs
