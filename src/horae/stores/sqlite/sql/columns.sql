-- Lists of columns that several statements share, in the order in which rows.py reads them.

-- name: entry_columns
agenda.task, agenda.slot, agenda.kind, agenda.due, agenda.planned, agenda.owner, agenda.priority, agenda.stand,
agenda.origin, agenda.attempt, agenda.forgiven, agenda.deaths, agenda.through, agenda.span_first, agenda.span_last,
agenda.span_count, agenda.waited, agenda.in_order, agenda.lane, agenda.run_id

-- name: standing_columns
standings.version, standings.state, standings.counted, standings.failures, standings.skips_left, standings.last_end,
standings.last_result, standings.paused_since, standings.pause_cause, standings.pause_note, standings.pause_until,
standings.reason, standings.ended, standings.live

-- name: task_columns
tasks.seq, tasks.id, tasks.owner, tasks.name, tasks.schedule, tasks.target_kind, tasks.target_spec, tasks.payload,
tasks.policies, tasks.created, tasks.key, tasks.lane, tasks.labels, tasks.version

-- name: run_columns
runs.seq, runs.id, runs.task, runs.owner, runs.origin, runs.planned, runs.due, runs.attempt, runs.state, runs.reason,
runs.token, runs.node, runs.claimed, runs.started, runs.ended, runs.deadline, runs.span_first, runs.span_last,
runs.span_count, runs.forgiven, runs.deaths, runs.alone, runs.in_order, runs.cancel, runs.lanes, runs.result, runs.error
