-- Column lists and filters that several statements share; codec/rows.py reads the columns in this order.

-- name: entry_columns
agenda.task, agenda.slot, agenda.kind, agenda.due, agenda.planned, agenda.owner, agenda.priority, agenda.state,
agenda.origin, agenda.attempt, agenda.forgiven, agenda.deaths, agenda.through, agenda.span_first, agenda.span_last,
agenda.span_count, agenda.waited, agenda.in_order, agenda.lane, agenda.run_id, agenda.input, agenda.chain

-- name: status_columns
task_state.version, task_state.state, task_state.counted, task_state.failures, task_state.skips_left, task_state.last_end,
task_state.last_result, task_state.paused_since, task_state.pause_cause, task_state.pause_note, task_state.pause_until,
task_state.reason, task_state.ended

-- name: task_columns
tasks.seq, tasks.id, tasks.owner, tasks.name, tasks.schedule, tasks.target_kind, tasks.target_spec, tasks.payload,
tasks.policies, tasks.created, tasks.key, tasks.lane, tasks.labels, tasks.version,
tasks.successors

-- name: run_columns
0, run.id, run.task, run.owner, run.origin, run.planned, run.due, run.attempt, run.state, run.reason, run.token,
run.node, run.claimed, run.started, run.ended, run.deadline, run.span_first, run.span_last, run.span_count, run.forgiven,
run.deaths, run.alone, run.in_order, run.cancel, run.lanes, run.result, run.error, run.input, run.chain

-- name: run_outcome_columns
-- Without result, error and input.
0, run.id, run.task, run.owner, run.origin, run.planned, run.due, run.attempt, run.state, run.reason, run.token,
run.node, run.claimed, run.started, run.ended, run.deadline, run.span_first, run.span_last, run.span_count, run.forgiven,
run.deaths, run.alone, run.in_order, run.cancel, run.lanes, NULL::text, NULL::text, NULL::text, run.chain

-- name: row_columns
id, task, owner, origin, planned, due, attempt, state, reason, token, node, claimed, started, ended, deadline,
span_first, span_last, span_count, forgiven, deaths, alone, in_order, cancel, lanes, result, error, input, chain

-- name: chain_row_columns
chain_rows.task, chain_rows.root, chain_rows.state, chain_rows.planned, chain_rows.attempt, chain_rows.awaited,
chain_rows.arrivals, chain_rows.updated

-- name: record_columns
kind, key, owner, body, version, expires

-- name: node_columns
id, home, version, joined, renewed, renewals, host, load, capacity, clock_offset, draining, labels

-- name: total_owner_columns
-- Owner of the total that a counter of this owner belongs to: that of all owners, or that of all system tasks.
CASE WHEN owner >= 'horae:' AND owner < 'horae;' THEN 'horae:*' ELSE '' END

-- name: scope_filter
-- In lists: one owner, every owner but those of system tasks (*), every owner of system tasks (horae:*), or (NULL) all.
($NUMBER::text IS NULL OR COLUMN = $NUMBER OR $NUMBER IN ('*', 'horae:*') AND (COLUMN >= 'horae:' AND COLUMN < 'horae;') = ($NUMBER = 'horae:*'))

-- name: reader_filter
-- By id: one owner with its system tasks, or (NULL) all.
($NUMBER::text IS NULL OR COLUMN = $NUMBER OR COLUMN = 'horae:' || $NUMBER)

-- name: task_filter
-- A condition whose parameter is NULL is off. Labels are compared as JSON text: quotes inside a value are escaped, so no
-- value can imitate a label. They are not decoded, because JSON can contain NUL, which the server cannot store.
tasks.seq > $1 AND task_state.task > $1
AND ($3::text IS NULL OR task_state.state = ANY ((SELECT $3::text::text[])::text[]))
AND {scope_filter tasks.owner 4}
AND ($5::text IS NULL OR tasks.name = $5)
AND ($6::text IS NULL OR tasks.lane = $6 OR EXISTS (
  SELECT 1 FROM @labels AS further_lane WHERE further_lane.label = 'lane:' || $6 AND further_lane.task = tasks.seq
))
AND ($7::text IS NULL OR tasks.target_kind = $7)
AND ($8::text IS NULL OR position(lower($8) IN lower(tasks.name)) > 0)
AND ($9::text IS NULL OR (tasks.id >= $9 AND tasks.id < $9 || '~'))
AND ($10::text = '[]' OR NOT EXISTS (
  SELECT 1 FROM json_array_elements($10::json) AS label WHERE position(label.value::text IN tasks.labels) = 0
))

-- name: run_filter
(run.planned, run.attempt, run.id) < ($1::bigint, $2::integer, $3::text)
AND {scope_filter run.owner 5}
AND ($6::text IS NULL OR run.state = ANY ((SELECT $6::text::text[])::text[]))
AND ($7::bigint IS NULL OR coalesce(run.span_last, run.planned) >= $7)
AND ($8::bigint IS NULL OR coalesce(run.span_first, run.planned) <= $8)

-- name: ended_transaction_filter
-- Transactions that have ended, together with all earlier ones.
event_batches.tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint + (SELECT shift FROM @numbering)

-- name: event_columns
events.first + events.place, events.kind, events.at, events.owner, events.task_id, events.run_id, events.detail

-- name: all_event_columns
-- All events of a transaction: single rows, and those unpacked from packed_events.
event_batches.first, one_event.place, one_event.kind, one_event.at, one_event.owner, one_event.task_id, one_event.run_id,
one_event.detail
FROM @event_batches CROSS JOIN LATERAL (
  SELECT place, kind, at, owner, task_id, run_id, detail FROM @events WHERE events.tx = event_batches.tx
  UNION ALL
  SELECT
    place_in_transaction, kind, coalesce(at, first_at), owner, task_id, CASE WHEN kind LIKE 'run.%' THEN run_id END, NULL
  FROM (
    SELECT
      packed_events.place + packed_events.removed AS first_kept, packed_events.owner, event_kind.kind, run.at, run.task_id, run.run_id,
      (packed_events.at::bigint[])[1] AS first_at,
      packed_events.place + ((run.number - 1) * cardinality(packed_events.kinds::text[]) + event_kind.number - 1)::integer
        AS place_in_transaction
    FROM @packed_events
    CROSS JOIN LATERAL unnest(packed_events.at::bigint[], packed_events.task_ids::text[], packed_events.run_ids::text[])
      WITH ORDINALITY AS run (at, task_id, run_id, number)
    CROSS JOIN LATERAL unnest(packed_events.kinds::text[]) WITH ORDINALITY AS event_kind (kind, number)
    WHERE packed_events.tx = event_batches.tx
  ) AS unpacked_bundles
  WHERE place_in_transaction >= first_kept
) AS one_event

-- name: unrestricted_filter
-- The owner, or the account that a system task runs on behalf of, has no limit and is not blocked.
NOT EXISTS (SELECT 1 FROM @lanes WHERE lanes.name = 'owner:' || CASE WHEN starts_with(COLUMN, 'horae:') THEN substr(COLUMN, 7) ELSE COLUMN END AND lanes.slot_limit IS NOT NULL)
AND NOT EXISTS (SELECT 1 FROM @blocked_owners WHERE blocked_owners.owner = CASE WHEN starts_with(COLUMN, 'horae:') THEN substr(COLUMN, 7) ELSE COLUMN END)
