-- Statements of the agenda: claim, settle, recover and node leases.

-- name: agenda_heads_of_node
SELECT
  (SELECT due FROM @agenda WHERE state = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE state = 1 ORDER BY due, task, slot LIMIT 1),
  (SELECT wake_at FROM @lanes WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1)
FROM @nodes WHERE id = $1

-- name: agenda_heads
SELECT
  (SELECT due FROM @agenda WHERE state = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE state = 1 ORDER BY due, task, slot LIMIT 1),
  (SELECT wake_at FROM @lanes WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1)

-- name: begin_claim
-- Locks the node's lock row against its recovery as a dead node only. Without that row, no fencing token is issued.
SELECT node FROM @node_locks WHERE node = $1 LOCK IN SHARE MODE;
INSERT INTO @tokens (number) SELECT NULL FROM @node_locks WHERE node = $1;
SELECT
  LAST_INSERT_ID(), (SELECT wake_at FROM @lanes WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1),
  (SELECT due FROM @agenda WHERE state = 1 ORDER BY due, task, slot LIMIT 1),
  (
    SELECT JSON_ARRAYAGG(name) FROM (
      SELECT SUBSTR(name, 7) AS name FROM @lanes WHERE name >= 'owner:' AND name < 'owner;' AND slot_limit IS NOT NULL
      UNION ALL
      SELECT owner FROM @blocked_owners
      LIMIT 65
    ) AS restricted
  )
FROM @node_locks WHERE node = $1

-- name: timed_slice
-- Reads more entries than needed without locks, because those locked by others are skipped. Then locks, from the head on,
-- the status row and after it the entry until there are enough; only returned rows are locked. The primary keys are forced:
-- for small tables the server would scan, and lock, all rows in another order.
SELECT {entry_columns}, task_state.version
FROM (
  SELECT task, slot FROM @agenda FORCE INDEX (agenda_timed) WHERE state = 0 AND due <= $1
  ORDER BY due, task, slot LIMIT $2*4
) AS head
STRAIGHT_JOIN @task_state AS task_state FORCE INDEX (PRIMARY) ON task_state.task = head.task
STRAIGHT_JOIN @agenda AS agenda FORCE INDEX (PRIMARY)
  ON agenda.task = head.task AND agenda.slot = head.slot AND agenda.state = 0 AND agenda.due <= $1
LIMIT $2 FOR UPDATE SKIP LOCKED

-- name: peek_timed_slice
SELECT {entry_columns}
FROM @agenda AS agenda WHERE agenda.state = 0 AND agenda.due <= $1 ORDER BY agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: ready_slices
-- The best entries of each owner's queue, owner by owner.
SELECT {entry_columns} FROM (
  [[ (SELECT * FROM @agenda WHERE state = 1 AND queue = $each ORDER BY urgency, due, task, slot LIMIT $2) ]]
) AS agenda
ORDER BY agenda.owner, agenda.urgency, agenda.due, agenda.task, agenda.slot

-- name: lock_entries
-- Checks the due instant again: a chosen entry may have been moved to a later instant meanwhile.
SELECT {entry_columns}, task_state.version
FROM @task_state AS task_state FORCE INDEX (PRIMARY)
STRAIGHT_JOIN @agenda AS agenda FORCE INDEX (PRIMARY) ON agenda.task = task_state.task
WHERE task_state.task IN ($1) AND (agenda.task, agenda.slot) IN ($1+2) AND agenda.state IN (0, 1) AND agenda.due <= $3
FOR UPDATE SKIP LOCKED

-- name: queue_oldest
SELECT task, slot FROM @agenda FORCE INDEX (agenda_timed) WHERE state = 0 AND due <= $1
ORDER BY due, task, slot LIMIT $2 FOR UPDATE SKIP LOCKED;;
UPDATE @agenda SET state = 1 WHERE task IN ($found_1) AND (task, slot) IN ($found)

-- name: queue_newest
SELECT task, slot FROM @agenda FORCE INDEX (agenda_timed) WHERE state = 0 AND due <= $1
ORDER BY due DESC, task DESC, slot DESC LIMIT $2 FOR UPDATE SKIP LOCKED;;
UPDATE @agenda SET state = 1 WHERE task IN ($found_1) AND (task, slot) IN ($found)

-- name: unqueue_not_due
-- A node with a faster clock may have made entries ready that are not due on this node.
SELECT task, slot FROM @agenda FORCE INDEX (agenda_timed) WHERE state = 1 AND due > $1 FOR UPDATE SKIP LOCKED;;
UPDATE @agenda SET state = 0 WHERE task IN ($found_1) AND (task, slot) IN ($found)

-- name: ready_owners
-- Index skip scan: jumps from owner to owner, so the cost does not depend on the number of entries.
WITH RECURSIVE owners (owner, ordinal) AS (
  (SELECT queue, 1 FROM @agenda WHERE state = 1 AND queue > $1 ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM @agenda AS later WHERE state = 1 AND queue > owners.owner ORDER BY queue LIMIT 1), ordinal + 1
  FROM owners WHERE owners.owner IS NOT NULL AND owners.ordinal < $2
)
SELECT owner FROM owners WHERE owner IS NOT NULL ORDER BY ordinal

-- name: due_order_suffices
-- With one owner and no priorities, the rotation of owners gives the order of due instants. Used only while no entry is
-- ready, so timed entries are checked alone; parked ones take no part in the rotation.
SELECT
  (SELECT MIN(owner) FROM @tasks) <=> (SELECT MAX(owner) FROM @tasks)
  AND NOT EXISTS (SELECT 1 FROM @agenda WHERE state = 0 AND queue IS NULL AND urgency <> 0)

-- name: tasks_with_several_entries
-- Usually there are none: an entry is the only one of its task.
SELECT task FROM @agenda WHERE task IN ($1) GROUP BY task HAVING COUNT(*) > 1

-- name: lock_tasks
-- Locks in the order of task numbers, so that two transactions with the same tasks never deadlock.
SELECT task, version, {no_limits_filter}
FROM @task_state FORCE INDEX (PRIMARY) WHERE task IN ($1) ORDER BY task FOR UPDATE

-- name: tasks_of_runs
SELECT id, task FROM @live_runs WHERE id IN ($1)

-- name: live_runs_of_node
SELECT id, token FROM @live_runs WHERE node = $1 ORDER BY id

-- name: reparked
-- The entries of a lane that were parked again eight times; see `encode_entry`.
SELECT task, slot, owner FROM @agenda FORCE INDEX (agenda_reparked) WHERE lane = $1 AND state = 3 AND waited >= 16
ORDER BY urgency, due, task, slot LIMIT $2

-- name: waiting_for_nodes
-- Whether entries are parked at these routes, and whether there are entries in the queues of routes.
SELECT
  EXISTS (SELECT 1 FROM @agenda WHERE state = 3 AND queue IN ($1)), EXISTS (SELECT 1 FROM @agenda WHERE state = 5)

-- name: route_queues
-- Index skip scan: jumps from queue to queue, so the cost does not depend on the number of entries.
WITH RECURSIVE queues (queue) AS (
  SELECT MIN(queue) FROM @agenda WHERE state = 5
  UNION ALL
  SELECT (SELECT MIN(later.queue) FROM @agenda AS later WHERE later.state = 5 AND later.queue > queues.queue)
  FROM queues WHERE queues.queue IS NOT NULL
)
SELECT queue, (SELECT MIN(head.due) FROM @agenda AS head WHERE head.state = 5 AND head.queue = queues.queue)
FROM queues WHERE queue IS NOT NULL

-- name: route_queues_head
SELECT MIN(due) FROM @agenda WHERE state = 5 AND queue IN ($1)

-- name: queued_slice
-- Locks like `timed_slice`.
SELECT {entry_columns}, task_state.version
FROM (
  SELECT task, slot FROM @agenda WHERE state = 5 AND due <= $1 AND queue IN ($2) ORDER BY due, task, slot LIMIT $3*4
) AS head
STRAIGHT_JOIN @task_state AS task_state FORCE INDEX (PRIMARY) ON task_state.task = head.task
STRAIGHT_JOIN @agenda AS agenda FORCE INDEX (PRIMARY)
  ON agenda.task = head.task AND agenda.slot = head.slot AND agenda.state = 5 AND agenda.due <= $1
LIMIT $3 FOR UPDATE SKIP LOCKED

-- name: waiting_owners
-- Index skip scan: jumps from owner to owner, so the cost does not depend on the number of entries.
WITH RECURSIVE owners (owner, ordinal) AS (
  (SELECT owner, 1 FROM @agenda WHERE lane = $1 AND state = 3 AND owner > $2 ORDER BY owner LIMIT 1)
  UNION ALL
  SELECT (
    SELECT owner FROM @agenda AS later WHERE lane = $1 AND state = 3 AND later.owner > owners.owner ORDER BY later.owner LIMIT 1
  ), ordinal + 1
  FROM owners WHERE owners.owner IS NOT NULL AND owners.ordinal < $3
)
SELECT owner FROM owners WHERE owner IS NOT NULL ORDER BY ordinal

-- name: waiting_of_owners
-- The best entries of each owner in one lane.
SELECT agenda.task, agenda.slot, agenda.owner FROM (
  [[ (SELECT * FROM @agenda WHERE lane = $2 AND state = 3 AND owner = $each ORDER BY urgency, due, task, slot LIMIT $3) ]]
) AS agenda
ORDER BY agenda.urgency, agenda.due, agenda.task, agenda.slot

-- name: waiting_priorities
-- The highest priority of each owner in one lane.
SELECT owner, MAX(priority) FROM @agenda WHERE state = 3 AND lane = $1 GROUP BY owner

-- name: unpark
UPDATE @agenda SET state = 0 WHERE task IN ({column_1}) AND (task, slot) IN ({rows})

-- name: first_parked
SELECT 1 FROM @agenda WHERE state = 3 AND lane = $1 LIMIT 1

-- name: waking_lanes
SELECT name FROM @lanes WHERE wake_at IS NOT NULL AND wake_at <= $1 ORDER BY name

-- name: starts_outside_period
-- The number of starts up to an instant, and the number before the first one that is kept.
SELECT
  (SELECT first_number + size FROM @lane_starts WHERE lane = $1 AND at <= $2 ORDER BY at DESC LIMIT 1),
  (SELECT first_number FROM @lane_starts WHERE lane = $1 ORDER BY at LIMIT 1)

-- name: start_at
-- The instant of the start with this number, or of the first one that is kept.
SELECT at, first_number FROM @lane_starts WHERE lane = $1 AND first_number + size > $2 ORDER BY at LIMIT 1

-- name: lane_starts
SELECT at, size FROM @lane_starts WHERE lane = $1 AND first_number + size > $2 ORDER BY at

-- name: put_lane_starts
INSERT INTO @lane_starts (lane, at, first_number, size) VALUES ($1, $2, $3, $4)
ON DUPLICATE KEY UPDATE size = size + VALUES(size)

-- name: prune_lane_starts
-- Reads from the oldest row on, so the cost does not depend on the number of rows that stay.
DELETE FROM @lane_starts WHERE lane = $1 AND at < (
  SELECT kept.at FROM (
    SELECT at FROM @lane_starts WHERE lane = $1 AND first_number + size > $2 ORDER BY at LIMIT 1
  ) AS kept
)

-- name: drop_lane_starts
DELETE FROM @lane_starts WHERE lane = $1

-- name: update_lane_rate
UPDATE @lanes SET started = $2, last_start = $3, wake_at = $4 WHERE name = $1

-- name: put_lane_turns
INSERT INTO @lane_turns (lane, owner) VALUES {rows} ON DUPLICATE KEY UPDATE owner = VALUES(owner)


-- name: unpark_routes
-- Entries that another transaction has locked are skipped; the next call unparks them.
SELECT task, slot FROM @agenda FORCE INDEX (agenda_queues) WHERE state = 3 AND queue IN ($1) FOR UPDATE SKIP LOCKED;;
UPDATE @agenda SET state = 0, lane = NULL WHERE task IN ($found_1) AND (task, slot) IN ($found)

-- name: join
START TRANSACTION;
INSERT INTO @node_locks (node) VALUES ($1) ON DUPLICATE KEY UPDATE node = VALUES(node);
INSERT INTO @nodes ({node_columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON DUPLICATE KEY UPDATE
  home = VALUES(home), version = VALUES(version), joined = VALUES(joined), renewed = VALUES(renewed),
  renewals = VALUES(renewals), host = VALUES(host), load_count = VALUES(load_count), capacity = VALUES(capacity),
  clock_offset = VALUES(clock_offset), draining = VALUES(draining), labels = VALUES(labels);
COMMIT

-- name: lock_node
-- Locks the lock row first: while this waits for a long claim of the node, the node can still renew.
SELECT node FROM @node_locks WHERE node = $1 FOR UPDATE;
SELECT renewals FROM @nodes WHERE id = $1 FOR UPDATE

-- name: renew_lease
UPDATE @nodes SET renewed = $2, renewals = renewals + 1, load_count = $3, clock_offset = $4 WHERE id = $1;
SELECT
  (
    SELECT COALESCE(CONCAT('[', GROUP_CONCAT(JSON_ARRAY(id, cancel) ORDER BY id), ']'), '[]')
    FROM @live_runs WHERE node = $1 AND cancel IS NOT NULL
  ),
  (
    SELECT COALESCE(CONCAT('[', GROUP_CONCAT(JSON_ARRAY({node_columns}) ORDER BY id), ']'), '[]')
    FROM @nodes WHERE id <> $1
  ),
  (SELECT due FROM @agenda WHERE state = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE state = 1 ORDER BY due, task, slot LIMIT 1),
  (SELECT wake_at FROM @lanes WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1),
  TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
  draining,
  (
    SELECT COALESCE(CONCAT('[', GROUP_CONCAT(body ORDER BY record_key), ']'), '[]')
    FROM @records WHERE kind = 'yield_request' AND record_key > CONCAT($1, '/') AND record_key < CONCAT($1, '0')
  )
FROM @nodes WHERE id = $1

-- name: leave
START TRANSACTION;
SELECT node FROM @node_locks WHERE node = $1 FOR UPDATE;
DELETE FROM @nodes WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM @live_runs WHERE node = $1);
DELETE FROM @node_locks WHERE node = $1 AND NOT EXISTS (SELECT 1 FROM @live_runs WHERE node = $1);
COMMIT

-- name: drop_node
DELETE FROM @nodes WHERE id = $1;
DELETE FROM @node_locks WHERE node = $1

-- name: drain
UPDATE @nodes SET draining = $1 WHERE id = $2
