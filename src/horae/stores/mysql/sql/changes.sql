-- Writes of decided changes, many rows per statement. Conditions name the first key column as well: for a list of composite
-- keys alone the server would scan the table.

-- name: task_numbers
-- The rows of one statement get consecutive numbers; LAST_INSERT_ID() is the first of them.
INSERT INTO @task_numbers (number) VALUES $nulls;
SELECT number FROM @task_numbers WHERE number >= LAST_INSERT_ID() ORDER BY number LIMIT $1

-- name: insert_tasks
INSERT INTO @tasks (
  seq, id, owner, name, schedule, target_kind, target_spec, payload, policies, created, natural_key, lane, labels, version,
  successors
) VALUES {rows};
INSERT INTO @labels (label, task, owner) {labels_filter} AND tasks.seq IN ({column_1})
UNION ALL {further_lanes_filter} AND tasks.seq IN ({column_1})

-- name: update_task
UPDATE @tasks SET
  id = $1, owner = $2, name = $3, schedule = $4, target_kind = $5, target_spec = $6, payload = $7, policies = $8,
  created = $9, natural_key = $10, lane = $11, labels = $12, version = $13, successors = $14
WHERE seq = $15;
DELETE FROM @labels WHERE task = $15;
INSERT INTO @labels (label, task, owner) {labels_filter} AND tasks.seq = $15
UNION ALL {further_lanes_filter} AND tasks.seq = $15

-- name: insert_statuses
INSERT INTO @task_state (
  task, version, state, counted, failures, skips_left, last_end, last_result, paused_since, pause_cause, pause_note,
  pause_until, reason, ended
) VALUES {rows}

-- name: put_statuses
-- All rows exist and are locked, so this only updates.
INSERT INTO @task_state (
  task, version, state, counted, failures, skips_left, last_end, last_result, paused_since, pause_cause, pause_note,
  pause_until, reason, ended
) VALUES {rows}
ON DUPLICATE KEY UPDATE
  version = VALUES(version), state = VALUES(state), counted = VALUES(counted), failures = VALUES(failures),
  skips_left = VALUES(skips_left), last_end = VALUES(last_end), last_result = VALUES(last_result),
  paused_since = VALUES(paused_since), pause_cause = VALUES(pause_cause), pause_note = VALUES(pause_note),
  pause_until = VALUES(pause_until), reason = VALUES(reason), ended = VALUES(ended)

-- name: put_entries
INSERT INTO @agenda (
  task, slot, kind, due, planned, owner, priority, state, origin, attempt, forgiven, deaths, through, span_first,
  span_last, span_count, waited, in_order, lane, run_id, input, chain
) VALUES {rows}
ON DUPLICATE KEY UPDATE
  kind = VALUES(kind), due = VALUES(due), planned = VALUES(planned), owner = VALUES(owner),
  priority = VALUES(priority), state = VALUES(state), origin = VALUES(origin), attempt = VALUES(attempt),
  forgiven = VALUES(forgiven), deaths = VALUES(deaths), through = VALUES(through), span_first = VALUES(span_first),
  span_last = VALUES(span_last), span_count = VALUES(span_count), waited = VALUES(waited),
  in_order = VALUES(in_order), lane = VALUES(lane), run_id = VALUES(run_id), input = VALUES(input), chain = VALUES(chain)

-- name: drop_entries
DELETE FROM @agenda WHERE task IN ({column_1}) AND (task, slot) IN ({rows})

-- name: delete_entries_of_tasks
DELETE FROM @agenda WHERE task IN ($1)

-- name: existing_run
SELECT 1 FROM @runs WHERE task = $1 AND planned = $2 AND attempt = $3 AND origin = $4
UNION ALL
SELECT 1 FROM @runs WHERE stray_id = $5
UNION ALL
SELECT 1 FROM @live_runs WHERE task = $1 AND planned = $2 AND attempt = $3 AND origin = $4
UNION ALL
SELECT 1 FROM @live_runs WHERE id = $5

-- name: insert_started_runs
-- Fast path for ordinary starts: columns that are not listed get their defaults. The filter finds runs that the ledger has
-- already.
INSERT INTO @live_runs (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started) VALUES {rows};
{duplicate_run_filter}

-- name: insert_laned_runs
-- Fast path for starts in lanes.
INSERT INTO @live_runs (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started, lanes)
VALUES {rows};
{duplicate_run_filter}

-- name: insert_live_runs
INSERT INTO @live_runs ({row_columns}) VALUES {rows};
{duplicate_run_filter}

-- name: put_live_runs
-- All rows exist and their tasks are locked, so this only updates.
INSERT INTO @live_runs ({row_columns}) VALUES {rows}
ON DUPLICATE KEY UPDATE
  state = VALUES(state), reason = VALUES(reason), token = VALUES(token), node = VALUES(node),
  claimed = VALUES(claimed), started = VALUES(started), ended = VALUES(ended), deadline = VALUES(deadline),
  span_first = VALUES(span_first), span_last = VALUES(span_last), span_count = VALUES(span_count),
  forgiven = VALUES(forgiven), deaths = VALUES(deaths), alone = VALUES(alone), in_order = VALUES(in_order),
  cancel = VALUES(cancel), lanes = VALUES(lanes), result = VALUES(result), error = VALUES(error), input = VALUES(input)

-- name: end_runs
-- Fast path for ordinary ends: columns that are not listed stay as they are.
INSERT INTO @runs ({row_columns})
SELECT
  live.id, live.task, live.owner, live.origin, live.planned, live.due, live.attempt, ending.c2, ending.c3, live.token,
  live.node, live.claimed, ending.c4, ending.c5, ending.c6, live.span_first, live.span_last, live.span_count, live.forgiven,
  live.deaths, live.alone, live.in_order, live.cancel, live.lanes, ending.c7, ending.c8, live.input, live.chain
FROM ({selects}) AS ending STRAIGHT_JOIN @live_runs AS live ON live.id = ending.c1;
DELETE FROM @live_runs WHERE id IN ({column_1})

-- name: drop_live_runs
DELETE FROM @live_runs WHERE id IN ($1)

-- name: insert_runs
INSERT INTO @runs ({row_columns}, stray) VALUES {rows};
{duplicate_run_filter}

-- name: insert_lane_slots
INSERT INTO @lane_slots (lane, run_id) VALUES {rows}

-- name: delete_lane_slots
DELETE FROM @lane_slots WHERE lane IN ({column_1}) AND run_id IN ({column_2}) AND (lane, run_id) IN ({rows})

-- name: take_event_numbers
-- Locks the counter until the end of the transaction, so it runs last.
UPDATE @numbering SET last = LAST_INSERT_ID(last) + $1

-- name: insert_events
-- The number of each event is an offset from the last number before `take_event_numbers`.
INSERT INTO @events (number, kind, at, owner, task_id, run_id, detail) VALUES {rows}

-- name: insert_counter_deltas
INSERT INTO @counter_deltas (owner, hour, name, number) VALUES {rows}

-- name: delete_task
-- Deletes the task with its status, labels, runs and log lines.
DELETE line FROM @runs AS run STRAIGHT_JOIN @lines AS line ON line.run_id = run.id WHERE run.task = $1;
DELETE line FROM @live_runs AS run STRAIGHT_JOIN @lines AS line ON line.run_id = run.id WHERE run.task = $1;
DELETE FROM @runs WHERE task = $1;
DELETE FROM @live_runs WHERE task = $1;
DELETE FROM @chain_rows WHERE task = $1;
DELETE FROM @records WHERE kind IN ('gate_state', 'task_data') AND record_key = (SELECT id FROM @tasks WHERE seq = $1);
DELETE FROM @task_state WHERE task = $1;
DELETE FROM @labels WHERE task = $1;
DELETE FROM @tasks WHERE seq = $1
