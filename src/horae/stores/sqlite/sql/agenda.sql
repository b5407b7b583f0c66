-- Statements of the agenda: claim, settle, recover and node leases.

-- name: agenda_heads_of_node
SELECT
  (SELECT due FROM agenda INDEXED BY agenda_timed WHERE state = 0 ORDER BY due LIMIT 1),
  (SELECT due FROM agenda INDEXED BY agenda_ready_due WHERE state = 1 ORDER BY due LIMIT 1),
  (SELECT wake_at FROM lanes INDEXED BY lanes_waking WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1)
FROM nodes WHERE id = ?

-- name: agenda_heads
SELECT
  (SELECT due FROM agenda INDEXED BY agenda_timed WHERE state = 0 ORDER BY due LIMIT 1),
  (SELECT due FROM agenda INDEXED BY agenda_ready_due WHERE state = 1 ORDER BY due LIMIT 1),
  (SELECT wake_at FROM lanes INDEXED BY lanes_waking WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1)

-- name: begin_claim
UPDATE tokens SET last = last + 1 WHERE EXISTS (SELECT 1 FROM nodes WHERE id = ?) RETURNING
  last,
  (SELECT wake_at FROM lanes INDEXED BY lanes_waking WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1),
  (SELECT due FROM agenda INDEXED BY agenda_ready_due WHERE state = 1 ORDER BY due LIMIT 1),
  (
    SELECT json_group_array(name) FROM (
      SELECT substr(name, 7) AS name FROM lanes WHERE name >= 'owner:' AND name < 'owner;'
      UNION ALL
      SELECT owner FROM blocked_owners
      LIMIT 65
    ) HAVING count(*) > 0
  )

-- name: timed_slice
SELECT {entry_columns}, task_state.version
FROM agenda INDEXED BY agenda_timed JOIN task_state ON task_state.task = agenda.task
WHERE agenda.state = 0 AND agenda.due <= ?
ORDER BY agenda.due, agenda.task, agenda.slot LIMIT ?

-- name: ready_slices
-- The best entries of each owner's queue.
SELECT {entry_columns}, task_state.version
FROM carray(?1) AS listed_owner CROSS JOIN agenda ON (agenda.task, agenda.slot) IN (
  SELECT best.task, best.slot FROM agenda AS best INDEXED BY agenda_ready
  WHERE best.state = 1 AND best.owner = listed_owner.value
  ORDER BY best.priority DESC, best.due, best.task, best.slot LIMIT ?2
)
JOIN task_state ON task_state.task = agenda.task
ORDER BY agenda.priority DESC, agenda.due, agenda.task, agenda.slot

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
  SELECT (SELECT min(owner) FROM agenda INDEXED BY agenda_ready WHERE state = 1 AND owner > ?1)
  UNION ALL
  SELECT (
    SELECT min(agenda.owner) FROM agenda INDEXED BY agenda_ready WHERE state = 1 AND agenda.owner > ready_owners.owner
  )
  FROM ready_owners WHERE ready_owners.owner IS NOT NULL
  LIMIT ?2
)
SELECT owner FROM ready_owners WHERE owner IS NOT NULL

-- name: due_order_suffices
-- With one owner and no priorities, the rotation of owners gives the order of due instants.
SELECT
  (SELECT min(owner) FROM tasks) IS (SELECT max(owner) FROM tasks)
  AND NOT EXISTS (SELECT 1 FROM agenda INDEXED BY agenda_prioritised WHERE priority <> 0)

-- name: tasks_of_runs
SELECT id, task FROM runs INDEXED BY runs_live WHERE live = 1 AND id IN carray(?)

-- name: tasks_with_several_entries
-- Usually there are none: an entry is the only one of its task.
SELECT task FROM agenda WHERE task IN carray(?) GROUP BY task HAVING count(*) > 1

-- name: lock_tasks
-- A write transaction excludes all others. The third column says whether no owner has a limit or is
-- blocked.
SELECT task, version, NOT EXISTS (SELECT 1 FROM lanes WHERE name >= 'owner:' AND name < 'owner;') AND NOT EXISTS (SELECT 1 FROM blocked_owners)
FROM task_state WHERE task IN carray(?)

-- name: live_runs_of_node
SELECT id, token FROM runs INDEXED BY runs_live WHERE live = 1 AND node = ? ORDER BY id

-- name: reparked
-- The entries of a lane that were parked again eight times; see `encode_entry`.
SELECT task, slot, owner FROM agenda INDEXED BY agenda_reparked WHERE state = 3 AND lane = ? AND waited >= 16
ORDER BY priority DESC, due, task, slot LIMIT ?

-- name: waiting_owners
-- Index skip scan: jumps from owner to owner, so the cost does not depend on the number of entries.
WITH RECURSIVE waiting_owners (owner) AS (
  SELECT (SELECT min(owner) FROM agenda INDEXED BY agenda_parked WHERE state = 3 AND lane = ?1 AND owner > ?2)
  UNION ALL
  SELECT (
    SELECT min(agenda.owner) FROM agenda INDEXED BY agenda_parked
    WHERE state = 3 AND lane = ?1 AND agenda.owner > waiting_owners.owner
  )
  FROM waiting_owners WHERE waiting_owners.owner IS NOT NULL
  LIMIT ?3
)
SELECT owner FROM waiting_owners WHERE owner IS NOT NULL

-- name: waiting_of_owners
-- The best entries of each owner in one lane.
SELECT agenda.task, agenda.slot, agenda.owner
FROM carray(?1) AS listed_owner CROSS JOIN agenda ON (agenda.task, agenda.slot) IN (
  SELECT best.task, best.slot FROM agenda AS best INDEXED BY agenda_parked
  WHERE best.state = 3 AND best.lane = ?2 AND best.owner = listed_owner.value
  ORDER BY best.priority DESC, best.due, best.task, best.slot LIMIT ?3
)
ORDER BY agenda.priority DESC, agenda.due, agenda.task, agenda.slot

-- name: waiting_priorities
-- The highest priority of each owner in one lane.
SELECT owner, max(priority) FROM agenda INDEXED BY agenda_parked WHERE state = 3 AND lane = ? GROUP BY owner

-- name: unpark
UPDATE agenda SET state = 0 WHERE (task, slot) IN (VALUES {rows})

-- name: put_lane_turns
REPLACE INTO lane_turns (lane, owner) VALUES {rows}

-- name: first_parked
SELECT 1 FROM agenda INDEXED BY agenda_parked WHERE state = 3 AND lane = ? LIMIT 1

-- name: waking_lanes
SELECT name FROM lanes INDEXED BY lanes_waking WHERE wake_at IS NOT NULL AND wake_at <= ? ORDER BY name

-- name: starts_outside_period
-- The number of starts up to an instant, and the number before the first one that is kept.
SELECT
  (SELECT first_number + size FROM lane_starts WHERE lane = ?1 AND at <= ?2 ORDER BY at DESC LIMIT 1),
  (SELECT first_number FROM lane_starts WHERE lane = ?1 ORDER BY at LIMIT 1)

-- name: start_at
-- The instant of the start with this number, or of the first one that is kept.
SELECT at, first_number FROM lane_starts WHERE lane = ?1 AND first_number + size > ?2 ORDER BY at LIMIT 1

-- name: lane_starts
SELECT at, size FROM lane_starts WHERE lane = ?1 AND first_number + size > ?2 ORDER BY at

-- name: put_lane_starts
INSERT INTO lane_starts (lane, at, first_number, size) VALUES (?, ?, ?, ?)
ON CONFLICT (lane, at) DO UPDATE SET size = size + excluded.size

-- name: prune_lane_starts
-- Reads from the oldest row on, so the cost does not depend on the number of rows that stay.
DELETE FROM lane_starts WHERE lane = ?1 AND at < (
  SELECT at FROM lane_starts WHERE lane = ?1 AND first_number + size > ?2 ORDER BY at LIMIT 1
)

-- name: drop_lane_starts
DELETE FROM lane_starts WHERE lane = ?

-- name: update_lane_rate
UPDATE lanes SET started = ?2, last_start = ?3, wake_at = ?4 WHERE name = ?1

-- name: waiting_for_nodes
-- Whether entries are parked at these routes, and whether there are entries in the queues of routes.
SELECT
  EXISTS (SELECT 1 FROM agenda INDEXED BY agenda_parked WHERE state = 3 AND lane IN carray(?)),
  EXISTS (SELECT 1 FROM agenda INDEXED BY agenda_queued WHERE state = 5)

-- name: route_queues
-- Index skip scan: jumps from queue to queue, so the cost does not depend on the number of entries.
WITH RECURSIVE queues (lane) AS (
  SELECT (SELECT min(lane) FROM agenda INDEXED BY agenda_queued WHERE state = 5)
  UNION ALL
  SELECT (
    SELECT min(agenda.lane) FROM agenda INDEXED BY agenda_queued WHERE state = 5 AND agenda.lane > queues.lane
  )
  FROM queues WHERE queues.lane IS NOT NULL
)
SELECT lane, (SELECT min(due) FROM agenda INDEXED BY agenda_queued WHERE state = 5 AND agenda.lane = queues.lane)
FROM queues WHERE lane IS NOT NULL

-- name: route_queues_head
SELECT min(due) FROM agenda INDEXED BY agenda_queued WHERE state = 5 AND lane IN carray(?)

-- name: queued_slice
SELECT {entry_columns}, task_state.version
FROM agenda INDEXED BY agenda_queued JOIN task_state ON task_state.task = agenda.task
WHERE agenda.state = 5 AND agenda.due <= ?1 AND agenda.lane IN carray(?2)
ORDER BY agenda.due, agenda.task, agenda.slot LIMIT ?3

-- name: unpark_routes
UPDATE agenda SET state = 0, lane = NULL WHERE state = 3 AND lane IN carray(?) RETURNING 1

-- name: join
REPLACE INTO nodes ({node_columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: lock_node
-- A write transaction excludes all others.
SELECT renewals FROM nodes WHERE id = ?

-- name: renew_lease
-- Renews the lease of a node and reads all that a heartbeat needs, in one statement: an idle node runs no other. There
-- is no clock to compare with: all nodes of a file are on one machine.
UPDATE nodes SET renewed = ?2, renewals = renewals + 1, load = ?3, clock_offset = ?4
WHERE id = ?1 RETURNING
  (
    SELECT json_group_array(json_array(id, cancel) ORDER BY id)
    FROM runs INDEXED BY runs_cancel_requested WHERE live = 1 AND cancel IS NOT NULL AND node = ?1
  ),
  (
    SELECT json_group_array(json_array({node_columns}) ORDER BY id)
    FROM nodes WHERE id <> ?1
  ),
  (SELECT due FROM agenda INDEXED BY agenda_timed WHERE state = 0 ORDER BY due LIMIT 1),
  (SELECT due FROM agenda INDEXED BY agenda_ready_due WHERE state = 1 ORDER BY due LIMIT 1),
  (SELECT wake_at FROM lanes INDEXED BY lanes_waking WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1),
  NULL,
  draining,
  (
    SELECT json_group_array(json(body) ORDER BY key)
    FROM records WHERE kind = 'yield_request' AND key > ?1 || '/' AND key < ?1 || '0'
  )

-- name: leave
DELETE FROM nodes WHERE id = ?1
AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_live WHERE live = 1 AND node = ?1)

-- name: drop_node
DELETE FROM nodes WHERE id = ?
