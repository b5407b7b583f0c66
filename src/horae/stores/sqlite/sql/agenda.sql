-- Statements of the agenda: claim, settle, recover and node leases.

-- name: agenda_head
SELECT
  EXISTS (SELECT 1 FROM nodes WHERE id = :node),
  (SELECT due FROM agenda INDEXED BY agenda_timed WHERE state = 0 ORDER BY due LIMIT 1),
  (SELECT due FROM agenda INDEXED BY agenda_ready_due WHERE state = 1 ORDER BY due LIMIT 1)

-- name: timed_slice
-- The count of the task's entries saves most claims a statement: usually the entry is the only one of its task.
SELECT
  {entry_columns}, task_state.version, (SELECT count(*) FROM agenda AS task_entries WHERE task_entries.task = agenda.task)
FROM agenda INDEXED BY agenda_timed JOIN task_state ON task_state.task = agenda.task
WHERE agenda.state = 0 AND agenda.due <= ?
ORDER BY agenda.due, agenda.task, agenda.slot LIMIT ?

-- name: ready_slice
SELECT
  {entry_columns}, task_state.version, (SELECT count(*) FROM agenda AS task_entries WHERE task_entries.task = agenda.task)
FROM agenda INDEXED BY agenda_ready JOIN task_state ON task_state.task = agenda.task
WHERE agenda.state = 1 AND agenda.owner = ?
ORDER BY agenda.priority DESC, agenda.due, agenda.task, agenda.slot LIMIT ?

-- name: queue_oldest
UPDATE agenda SET state = 1 WHERE (task, slot) IN (
  SELECT task, slot FROM agenda INDEXED BY agenda_timed WHERE state = 0 AND due <= ? ORDER BY due LIMIT ?
)

-- name: queue_newest
UPDATE agenda SET state = 1 WHERE (task, slot) IN (
  SELECT task, slot FROM agenda INDEXED BY agenda_timed WHERE state = 0 AND due <= ? ORDER BY due DESC LIMIT ?
)

-- name: unqueue_not_due
-- A node with a faster clock may have made entries ready that are not due on this node.
UPDATE agenda SET state = 0 WHERE (task, slot) IN (
  SELECT task, slot FROM agenda INDEXED BY agenda_ready_due WHERE state = 1 AND due > ?
)

-- name: ready_owners
-- Index skip scan: jumps from owner to owner, so the cost does not depend on the number of entries.
WITH RECURSIVE ready_owners (owner) AS (
  SELECT (SELECT min(owner) FROM agenda INDEXED BY agenda_ready WHERE state = 1 AND owner >= :from)
  UNION ALL
  SELECT (
    SELECT min(agenda.owner) FROM agenda INDEXED BY agenda_ready WHERE state = 1 AND agenda.owner > ready_owners.owner
  )
  FROM ready_owners WHERE ready_owners.owner IS NOT NULL
  LIMIT :most
)
SELECT owner FROM ready_owners WHERE owner IS NOT NULL

-- name: next_token
UPDATE tokens SET last = last + 1 RETURNING last

-- name: due_order_suffices
-- With one owner and no priorities, the rotation of owners gives the order of due instants.
SELECT
  (SELECT min(owner) FROM tasks) IS (SELECT max(owner) FROM tasks)
  AND NOT EXISTS (SELECT 1 FROM agenda INDEXED BY agenda_prioritised WHERE priority <> 0)

-- name: tasks_of_runs
SELECT id, task FROM runs INDEXED BY runs_live WHERE live = 1 AND id IN carray(?)

-- name: versions
SELECT task, version, (SELECT count(*) FROM agenda WHERE agenda.task = task_state.task)
FROM task_state WHERE task IN carray(?)

-- name: live_runs_of_node
SELECT id, token FROM runs INDEXED BY runs_live WHERE live = 1 AND node = ? ORDER BY id

-- name: start
UPDATE runs INDEXED BY runs_live SET state = 'running', started = ?
WHERE live = 1 AND id = ? AND token = ? AND state = 'claimed' AND cancel IS NULL
RETURNING id, task

-- name: request_cancel
UPDATE runs INDEXED BY runs_live SET cancel = ? WHERE live = 1 AND id = ?

-- name: unpark
UPDATE agenda SET state = 0 WHERE (task, slot) IN (
  SELECT task, slot FROM agenda INDEXED BY agenda_parked WHERE state = 3 AND lane = :lane
  ORDER BY priority DESC, due, task, slot
  LIMIT max(
    0,
    coalesce((SELECT slot_limit FROM lanes WHERE name = :lane), :unset)
    - (SELECT count(*) FROM lane_slots WHERE lane_slots.lane = :lane)
  )
)

-- name: has_entries_parked_at_routes
SELECT EXISTS (SELECT 1 FROM agenda INDEXED BY agenda_parked WHERE state = 3 AND lane IN carray(?))

-- name: unpark_routes
UPDATE agenda SET state = 0, lane = NULL WHERE state = 3 AND lane IN carray(?)

-- name: join
REPLACE INTO nodes ({node_columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: renewals
SELECT renewals FROM nodes WHERE id = ?

-- name: renew_lease
-- Renews the lease of a node and reads all that a heartbeat needs, in one statement: an idle node runs no other.
UPDATE nodes SET renewed = :now, renewals = renewals + 1, load = :load, clock_offset = :offset
WHERE id = :node RETURNING
  draining,
  (
    SELECT json_group_array(json_array(id, cancel) ORDER BY id)
    FROM runs INDEXED BY runs_cancel_requested WHERE live = 1 AND cancel IS NOT NULL AND node = :node
  ),
  (
    SELECT json_group_array(json_array({node_columns}) ORDER BY id)
    FROM nodes WHERE id <> :node
  ),
  (SELECT due FROM agenda INDEXED BY agenda_timed WHERE state = 0 ORDER BY due LIMIT 1),
  (SELECT due FROM agenda INDEXED BY agenda_ready_due WHERE state = 1 ORDER BY due LIMIT 1)

-- name: leave
DELETE FROM nodes WHERE id = :node
AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_live WHERE live = 1 AND node = :node)

-- name: drop_node
DELETE FROM nodes WHERE id = ?
