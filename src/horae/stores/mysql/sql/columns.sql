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
tasks.policies, tasks.created, tasks.natural_key, tasks.lane, tasks.labels, tasks.version,
tasks.successors

-- name: run_columns
0, run.id, run.task, run.owner, run.origin, run.planned, run.due, run.attempt, run.state, run.reason, run.token,
run.node, run.claimed, run.started, run.ended, run.deadline, run.span_first, run.span_last, run.span_count, run.forgiven,
run.deaths, run.alone, run.in_order, run.cancel, run.lanes, run.result, run.error, run.input, run.chain

-- name: run_outcome_columns
-- Without result, error and input.
0, run.id, run.task, run.owner, run.origin, run.planned, run.due, run.attempt, run.state, run.reason, run.token,
run.node, run.claimed, run.started, run.ended, run.deadline, run.span_first, run.span_last, run.span_count, run.forgiven,
run.deaths, run.alone, run.in_order, run.cancel, run.lanes, NULL, NULL, NULL, run.chain

-- name: row_columns
id, task, owner, origin, planned, due, attempt, state, reason, token, node, claimed, started, ended, deadline,
span_first, span_last, span_count, forgiven, deaths, alone, in_order, cancel, lanes, result, error, input, chain

-- name: chain_row_columns
chain_rows.task, chain_rows.root, chain_rows.state, chain_rows.planned, chain_rows.attempt, chain_rows.awaited,
chain_rows.arrivals, chain_rows.updated

-- name: record_columns
kind, record_key, owner, body, version, expires

-- name: node_columns
id, home, version, joined, renewed, renewals, host, load_count, capacity, clock_offset, draining, labels

-- name: no_limits_filter
-- True if no owner has a limit or is blocked.
NOT EXISTS (SELECT 1 FROM @lanes WHERE name >= 'owner:' AND name < 'owner;' AND slot_limit IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM @blocked_owners)

-- name: duplicate_run_filter
-- Finds a run of these tasks that is both live and in the ledger, which means that a new run is a duplicate.
SELECT 1 FROM @live_runs AS live STRAIGHT_JOIN @runs AS past ON past.task = live.task AND past.planned = live.planned
  AND past.attempt = live.attempt AND past.origin = live.origin
WHERE live.task IN ({column_2}) LIMIT 1

-- name: total_owner_columns
-- Owner of the total that a counter of this owner belongs to: that of all owners, or that of all system tasks.
CASE WHEN owner >= 'horae:' AND owner < 'horae;' THEN 'horae:*' ELSE '' END

-- name: scope_filter
-- In lists: one owner, every owner but those of system tasks (*), every owner of system tasks (horae:*), or (NULL) all.
(NOT $NUMBER? OR COLUMN = $NUMBER OR $NUMBER IN ('*', 'horae:*') AND (COLUMN >= 'horae:' AND COLUMN < 'horae;') = ($NUMBER = 'horae:*'))

-- name: reader_filter
-- By id: one owner with its system tasks, or (NULL) all.
(NOT $NUMBER? OR COLUMN = $NUMBER OR COLUMN = CONCAT('horae:', $NUMBER))

-- name: task_filter
-- A condition whose parameter is None is off. The text search ignores case for ASCII letters only: in the character set
-- `hebrew` no other characters have two cases, and any bytes are valid in it.
tasks.seq > $1
AND (NOT $3? OR task_state.state IN ($3))
AND {scope_filter tasks.owner 4}
AND (NOT $5? OR tasks.name = $5)
AND (NOT $6? OR tasks.lane = $6 OR EXISTS (
  SELECT 1 FROM @labels AS further_lane WHERE further_lane.label = CONCAT('lane:', $6) AND further_lane.task = tasks.seq
))
AND (NOT $7? OR tasks.target_kind = $7)
AND (NOT $8? OR LOCATE(
  LOWER(CONVERT(CAST($8 AS BINARY) USING hebrew)),
  LOWER(CONVERT(CAST(tasks.name AS BINARY) USING hebrew)) COLLATE hebrew_bin
) > 0)
AND (NOT $9? OR (tasks.id >= $9 AND tasks.id < CONCAT($9, '~')))
AND ($10 = '[]' OR NOT EXISTS (
  SELECT 1 FROM JSON_TABLE($10, '$[*]' COLUMNS (
    name LONGTEXT CHARACTER SET utf8mb4 COLLATE {collation} PATH '$[0]',
    value LONGTEXT CHARACTER SET utf8mb4 COLLATE {collation} PATH '$[1]'
  )) AS label
  WHERE LOCATE(
    CONCAT('[', JSON_QUOTE(label.name) COLLATE {collation}, ',', JSON_QUOTE(label.value) COLLATE {collation}, ']'),
    tasks.labels
  ) = 0
))

-- name: run_filter
(run.planned, run.attempt, run.id) < ($1, $2, $3)
AND {scope_filter run.owner 5}
AND (NOT $6? OR run.state IN ($6))
AND (NOT $7? OR COALESCE(run.span_last, run.planned) >= $7)
AND (NOT $8? OR COALESCE(run.span_first, run.planned) <= $8)

-- name: labels_filter
-- The distinct labels of tasks, as JSON text.
SELECT DISTINCT
  CONCAT('[', JSON_QUOTE(label.name) COLLATE {collation}, ',', JSON_QUOTE(label.value) COLLATE {collation}, ']') AS label,
  tasks.seq AS task, tasks.owner
FROM @tasks AS tasks, JSON_TABLE(tasks.labels, '$[*]' COLUMNS (
  name VARCHAR(200) CHARACTER SET utf8mb4 COLLATE {collation} PATH '$[0]',
  value VARCHAR(200) CHARACTER SET utf8mb4 COLLATE {collation} PATH '$[1]'
)) AS label
WHERE tasks.labels <> '[]'

-- name: further_lanes_filter
-- The further lanes of tasks, as they are in the index of labels.
SELECT DISTINCT CONCAT('lane:', lane.name) AS label, tasks.seq AS task, tasks.owner
FROM @tasks AS tasks, JSON_TABLE(tasks.policies, '$.lanes[*]' COLUMNS (
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE {collation} PATH '$'
)) AS lane
WHERE tasks.lane IS NOT NULL AND LOCATE('"lanes":', tasks.policies) > 0
