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
runs.seq, runs.id, runs.task, runs.owner, runs.origin, runs.planned, runs.due, runs.attempt, runs.state, runs.reason,
runs.token, runs.node, runs.claimed, runs.started, runs.ended, runs.deadline, runs.span_first, runs.span_last,
runs.span_count, runs.forgiven, runs.deaths, runs.alone, runs.in_order, runs.cancel, runs.lanes, runs.result, runs.error, runs.input, runs.chain

-- name: run_outcome_columns
-- Without result, error and input.
runs.seq, runs.id, runs.task, runs.owner, runs.origin, runs.planned, runs.due, runs.attempt, runs.state, runs.reason,
runs.token, runs.node, runs.claimed, runs.started, runs.ended, runs.deadline, runs.span_first, runs.span_last,
runs.span_count, runs.forgiven, runs.deaths, runs.alone, runs.in_order, runs.cancel, runs.lanes, NULL, NULL, NULL, runs.chain

-- name: row_columns
id, task, owner, origin, planned, due, attempt, state, reason, token, node, claimed, started, ended, deadline,
span_first, span_last, span_count, forgiven, deaths, alone, in_order, cancel, lanes, result, error, input, chain

-- name: chain_row_columns
chain_rows.task, chain_rows.root, chain_rows.state, chain_rows.planned, chain_rows.attempt, chain_rows.awaited,
chain_rows.arrivals, chain_rows.updated

-- name: node_columns
id, home, version, joined, renewed, renewals, host, load, capacity, clock_offset, draining, labels

-- name: record_columns
kind, key, owner, body, version, expires

-- name: scope_filter
-- In lists: one owner, every owner but those of system tasks (*), every owner of system tasks (horae:*), or (NULL) all.
(?NUMBER IS NULL OR COLUMN = ?NUMBER OR ?NUMBER IN ('*', 'horae:*') AND (COLUMN >= 'horae:' AND COLUMN < 'horae;') = (?NUMBER = 'horae:*'))

-- name: reader_filter
-- By id: one owner with its system tasks, or (NULL) all.
(?NUMBER IS NULL OR COLUMN = ?NUMBER OR COLUMN = 'horae:' || ?NUMBER)

-- name: task_filter
-- A condition whose parameter is NULL is off. Lists are JSON texts here: an array that is bound reads as NULL.
(?3 IS NULL OR task_state.state IN (SELECT value FROM json_each(?3)))
AND {scope_filter tasks.owner 4}
AND (?5 IS NULL OR tasks.name = ?5)
AND (?6 IS NULL OR tasks.lane = ?6 OR EXISTS (
  SELECT 1 FROM labels AS further_lane NOT INDEXED
  WHERE further_lane.label = 'lane:' || ?6 AND further_lane.task = tasks.seq
))
AND (?7 IS NULL OR tasks.target_kind = ?7)
AND (?8 IS NULL OR instr(lower(tasks.name), lower(?8)))
AND (?9 IS NULL OR (tasks.id >= ?9 AND tasks.id < ?9 || '~'))
AND NOT EXISTS (
  SELECT 1 FROM json_each(?10) AS required_label
  WHERE NOT EXISTS (SELECT 1 FROM json_each(tasks.labels) AS label WHERE label.value = required_label.value)
)

-- name: run_filter
-- The end of a period is part of the cursor of ended runs; `runs_page_of_spans` reads what begins before it and is planned
-- after it.
(runs.planned, runs.attempt, runs.id) < (?1, ?2, ?3)
AND {scope_filter runs.owner 5}
AND (?6 IS NULL OR runs.state IN (SELECT value FROM json_each(?6)))
AND runs.planned >= coalesce(?7, -9223372036854775807)
AND (?8 IS NULL OR coalesce(runs.span_first, runs.planned) <= ?8)
