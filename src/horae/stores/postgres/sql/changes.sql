-- Writes of decided changes. Each array parameter is a column: one value for each row.
-- The run row of a claim is inserted into live_runs by one of: claim_few (fast_path.sql, up to 16 ordinary starts),
-- write_starts (fast_path.sql, more of them), insert_started_runs, insert_laned_runs and insert_live_runs (here, all other
-- starts).

-- name: task_numbers
SELECT nextval('@task_numbers') FROM generate_series(1, $1::integer)

-- name: insert_tasks
INSERT INTO @tasks (
  seq, id, owner, name, schedule, target_kind, target_spec, payload, policies, created, key, lane, labels, version,
  successors
)
SELECT * FROM unnest(
  $1::text::bigint[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::text[], $9::text::text[],
  $10::text::bigint[], $11::text::text[], $12::text::text[], $13::text::text[], $14::text::bigint[], $15::text::text[]
)

-- name: update_task
UPDATE @tasks SET
  id = $1, owner = $2, name = $3, schedule = $4, target_kind = $5, target_spec = $6, payload = $7, policies = $8,
  created = $9, key = $10, lane = $11, labels = $12, version = $13, successors = $14
WHERE seq = $15

-- name: insert_statuses
INSERT INTO @task_state (
  task, version, state, counted, failures, skips_left, last_end, last_result, paused_since, pause_cause, pause_note,
  pause_until, reason, ended
)
SELECT * FROM unnest(
  $1::text::bigint[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::bigint[], $6::text::bigint[], $7::text::bigint[], $8::text::text[],
  $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::text[], $14::text::bigint[]
)

-- name: put_statuses
UPDATE @task_state SET
  version = given.version, state = given.state, counted = given.counted, failures = given.failures,
  skips_left = given.skips_left, last_end = given.last_end, last_result = given.last_result,
  paused_since = given.paused_since, pause_cause = given.pause_cause, pause_note = given.pause_note,
  pause_until = given.pause_until, reason = given.reason, ended = given.ended, completed_by_run = NULL
FROM unnest(
  $1::text::bigint[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::bigint[], $6::text::bigint[], $7::text::bigint[], $8::text::text[],
  $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::text[], $14::text::bigint[]
) AS given (
  task, version, state, counted, failures, skips_left, last_end, last_result, paused_since, pause_cause, pause_note,
  pause_until, reason, ended
)
WHERE task_state.task = given.task

-- name: put_entries
INSERT INTO @agenda (
  task, slot, kind, due, planned, owner, priority, state, origin, attempt, forgiven, deaths, through, span_first,
  span_last, span_count, waited, in_order, lane, run_id, input, chain
)
SELECT * FROM unnest(
  $1::text::bigint[], $2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::bigint[], $6::text::text[], $7::text::integer[], $8::text::smallint[],
  $9::text::text[], $10::text::integer[], $11::text::integer[], $12::text::integer[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[],
  $16::text::bigint[], $17::text::smallint[], $18::text::smallint[], $19::text::text[], $20::text::text[], $21::text::text[], $22::text::text[]
)
ON CONFLICT (task, slot) DO UPDATE SET
  kind = excluded.kind, due = excluded.due, planned = excluded.planned, owner = excluded.owner,
  priority = excluded.priority, state = excluded.state, origin = excluded.origin, attempt = excluded.attempt,
  forgiven = excluded.forgiven, deaths = excluded.deaths, through = excluded.through, span_first = excluded.span_first,
  span_last = excluded.span_last, span_count = excluded.span_count, waited = excluded.waited,
  in_order = excluded.in_order, lane = excluded.lane, run_id = excluded.run_id, input = excluded.input, chain = excluded.chain

-- name: drop_entries
DELETE FROM @agenda USING unnest($1::text::bigint[], $2::text::text[]) AS dropped (task, slot)
WHERE agenda.task = dropped.task AND agenda.slot = dropped.slot

-- name: delete_entries_of_tasks
DELETE FROM @agenda WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[])

-- name: existing_run
SELECT 1 FROM @runs WHERE task = $1 AND planned = $2 AND attempt = $3 AND origin = $4
UNION ALL
SELECT 1 FROM @runs WHERE stray = 1 AND id = $5
UNION ALL
SELECT 1 FROM @live_runs WHERE task = $1 AND planned = $2 AND attempt = $3 AND origin = $4
UNION ALL
SELECT 1 FROM @live_runs WHERE id = $5

-- name: insert_started_runs
-- Fast path for ordinary starts: columns that are not listed get their defaults. Runs that the ledger has already are
-- skipped; the caller sees that by the number of rows.
INSERT INTO @live_runs (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started)
SELECT * FROM unnest(
  $1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::integer[], $8::text::text[],
  $9::text::bigint[], $10::text::text[], $11::text::bigint[], $12::text::bigint[]
) AS new_run (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started)
WHERE (
  SELECT 1 FROM @runs WHERE runs.task = new_run.task AND runs.planned = new_run.planned AND runs.attempt = new_run.attempt
    AND runs.origin >= new_run.origin AND runs.origin <= new_run.origin
  ORDER BY runs.origin LIMIT 1
) IS NULL
ON CONFLICT DO NOTHING
RETURNING 1

-- name: insert_laned_runs
-- Fast path for starts in lanes, as insert_started_runs.
INSERT INTO @live_runs (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started, lanes)
SELECT * FROM unnest(
  $1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::integer[], $8::text::text[],
  $9::text::bigint[], $10::text::text[], $11::text::bigint[], $12::text::bigint[], $13::text::text[]
) AS new_run (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started, lanes)
WHERE (
  SELECT 1 FROM @runs WHERE runs.task = new_run.task AND runs.planned = new_run.planned AND runs.attempt = new_run.attempt
    AND runs.origin >= new_run.origin AND runs.origin <= new_run.origin
  ORDER BY runs.origin LIMIT 1
) IS NULL
ON CONFLICT DO NOTHING
RETURNING 1

-- name: insert_live_runs
INSERT INTO @live_runs ({row_columns})
SELECT * FROM unnest(
  $1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::integer[], $8::text::text[],
  $9::text::text[], $10::text::bigint[], $11::text::text[], $12::text::bigint[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::bigint[],
  $17::text::bigint[], $18::text::bigint[], $19::text::integer[], $20::text::integer[], $21::text::smallint[], $22::text::smallint[], $23::text::text[],
  $24::text::text[], $25::text::text[], $26::text::text[], $27::text::text[], $28::text::text[]
) AS new_run ({row_columns})
WHERE (
  SELECT 1 FROM @runs WHERE runs.task = new_run.task AND runs.planned = new_run.planned AND runs.attempt = new_run.attempt
    AND runs.origin >= new_run.origin AND runs.origin <= new_run.origin
  ORDER BY runs.origin LIMIT 1
) IS NULL
ON CONFLICT DO NOTHING
RETURNING 1

-- name: put_live_runs
INSERT INTO @live_runs ({row_columns})
SELECT * FROM unnest(
  $1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::integer[], $8::text::text[],
  $9::text::text[], $10::text::bigint[], $11::text::text[], $12::text::bigint[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::bigint[],
  $17::text::bigint[], $18::text::bigint[], $19::text::integer[], $20::text::integer[], $21::text::smallint[], $22::text::smallint[], $23::text::text[],
  $24::text::text[], $25::text::text[], $26::text::text[], $27::text::text[], $28::text::text[]
)
ON CONFLICT (id) DO UPDATE SET
  state = excluded.state, reason = excluded.reason, token = excluded.token, node = excluded.node,
  claimed = excluded.claimed, started = excluded.started, ended = excluded.ended, deadline = excluded.deadline,
  span_first = excluded.span_first, span_last = excluded.span_last, span_count = excluded.span_count,
  forgiven = excluded.forgiven, deaths = excluded.deaths, alone = excluded.alone, in_order = excluded.in_order,
  cancel = excluded.cancel, lanes = excluded.lanes, result = excluded.result, error = excluded.error,
  input = excluded.input

-- name: end_runs
-- Fast path for ordinary ends: columns that are not listed stay as they are.
WITH removed_live_runs AS (
  DELETE FROM @live_runs USING unnest(
    $1::text::text[], $2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::bigint[], $6::text::bigint[], $7::text::text[], $8::text::text[]
  ) AS ending (id, state, reason, started, ended, deadline, result, error)
  WHERE live_runs.id = ending.id
  RETURNING
    live_runs.id, live_runs.task, live_runs.owner, live_runs.origin, live_runs.planned, live_runs.due, live_runs.attempt, ending.state, ending.reason,
    live_runs.token, live_runs.node, live_runs.claimed, ending.started, ending.ended, ending.deadline, live_runs.span_first, live_runs.span_last,
    live_runs.span_count, live_runs.forgiven, live_runs.deaths, live_runs.alone, live_runs.in_order, live_runs.cancel, live_runs.lanes, ending.result,
    ending.error, live_runs.input, live_runs.chain
)
INSERT INTO @runs ({row_columns}) SELECT * FROM removed_live_runs

-- name: drop_live_runs
DELETE FROM @live_runs WHERE id = ANY ((SELECT $1::text::text[])::text[])

-- name: insert_runs
INSERT INTO @runs ({row_columns}, stray)
SELECT * FROM unnest(
  $1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::integer[], $8::text::text[],
  $9::text::text[], $10::text::bigint[], $11::text::text[], $12::text::bigint[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::bigint[],
  $17::text::bigint[], $18::text::bigint[], $19::text::integer[], $20::text::integer[], $21::text::smallint[], $22::text::smallint[], $23::text::text[],
  $24::text::text[], $25::text::text[], $26::text::text[], $27::text::text[], $28::text::text[], $29::text::smallint[]
) AS new_run ({row_columns}, stray)
WHERE NOT EXISTS (
  SELECT 1 FROM @live_runs WHERE live_runs.task = new_run.task AND live_runs.planned = new_run.planned AND live_runs.attempt = new_run.attempt
    AND live_runs.origin = new_run.origin
)
ON CONFLICT DO NOTHING
RETURNING 1

-- name: insert_lane_slots
INSERT INTO @lane_slots (lane, run_id) SELECT * FROM unnest($1::text::text[], $2::text::text[])

-- name: delete_lane_slots
DELETE FROM @lane_slots USING unnest($1::text::text[], $2::text::text[]) AS freed (lane, run_id)
WHERE lane_slots.lane = freed.lane AND lane_slots.run_id = freed.run_id

-- name: insert_events
-- `event_batches` has one row per transaction, with the number of its events.
WITH
  own_transaction AS (SELECT pg_current_xact_id()::text::bigint + shift AS tx FROM @numbering),
  event_batch AS (
    INSERT INTO @event_batches (tx, size) SELECT tx, $1::integer + cardinality($2::text::text[]) FROM own_transaction
    ON CONFLICT (tx) DO UPDATE SET size = excluded.size
  )
INSERT INTO @events (tx, place, kind, at, owner, task_id, run_id, detail)
SELECT own_transaction.tx, $1::integer + place - 1, kind, at, owner, task_id, run_id, detail
FROM own_transaction, unnest($2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[])
  WITH ORDINALITY AS event (kind, at, owner, task_id, run_id, detail, place)

-- name: insert_counter_deltas
INSERT INTO @counter_deltas (owner, hour, name, number) SELECT * FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[])

-- name: delete_task
-- Deletes the task with its status, runs and log lines.
WITH
  deleted_lines AS (
    DELETE FROM @lines WHERE run_id IN (
      SELECT id FROM @runs WHERE task = $1 UNION ALL SELECT id FROM @live_runs WHERE task = $1
    )
  ),
  deleted_runs AS (DELETE FROM @runs WHERE task = $1),
  deleted_live_runs AS (DELETE FROM @live_runs WHERE task = $1),
  deleted_chain_rows AS (DELETE FROM @chain_rows WHERE task = $1),
  deleted_records AS (
    DELETE FROM @records WHERE kind IN ('gate_state', 'task_data') AND key = (SELECT id FROM @tasks WHERE seq = $1)
  ),
  deleted_status AS (DELETE FROM @task_state WHERE task = $1)
DELETE FROM @tasks WHERE seq = $1
