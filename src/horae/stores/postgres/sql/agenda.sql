-- Statements of the agenda: claim, settle, recover and node leases.

-- name: agenda_heads_of_node
SELECT
  (SELECT due FROM @agenda WHERE state = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE state = 1 AND due > 0 ORDER BY due LIMIT 1),
  (SELECT wake_at FROM @lanes WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1)
FROM @nodes WHERE id = $1

-- name: agenda_heads
SELECT
  (SELECT due FROM @agenda WHERE state = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE state = 1 AND due > 0 ORDER BY due LIMIT 1),
  (SELECT wake_at FROM @lanes WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1)

-- name: begin_claim
-- Locks the node's row against its recovery as a dead node only: other claims of the node are not blocked. The fourth column
-- has the owners with a limit or a block, and blocked lanes of agents, as JSON: up to 65 of them, or NULL for none.
SELECT
  nextval('@tokens'),
  (SELECT wake_at FROM @lanes WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1),
  (SELECT due FROM @agenda WHERE state = 1 AND due > 0 ORDER BY due LIMIT 1),
  (
    SELECT json_agg(name)::text FROM (
      SELECT substr(name, 7) AS name FROM @lanes WHERE name >= 'owner:' AND name < 'owner;' AND slot_limit IS NOT NULL
      UNION ALL
      SELECT owner FROM @blocked_owners
      LIMIT 65
    ) AS restricted
  )
FROM @nodes WHERE id = $1 FOR KEY SHARE

-- name: timed_slice
SELECT {entry_columns}, task_state.version
FROM @agenda JOIN @task_state ON task_state.task = agenda.task
WHERE agenda.state = 0 AND agenda.due <= $1
ORDER BY agenda.due, agenda.task, agenda.slot LIMIT $2
FOR UPDATE OF task_state, agenda SKIP LOCKED

-- name: peek_timed_slice
SELECT {entry_columns}
FROM @agenda WHERE agenda.state = 0 AND agenda.due <= $1 ORDER BY agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: ready_slices
-- The best entries of each owner's queue, owner by owner.
SELECT {entry_columns}
FROM unnest($1::text::text[]) WITH ORDINALITY AS listed_owner (owner, ordinal)
CROSS JOIN LATERAL (
  SELECT * FROM @agenda AS owner_entries WHERE owner_entries.state = 1 AND owner_entries.owner = listed_owner.owner
  ORDER BY owner_entries.priority DESC, owner_entries.due, owner_entries.task, owner_entries.slot LIMIT $2
) AS agenda
ORDER BY listed_owner.ordinal, agenda.priority DESC, agenda.due, agenda.task, agenda.slot

-- name: lock_entries
-- Checks the due instant again: a chosen entry may have been moved to a later instant meanwhile.
SELECT {entry_columns}, task_state.version
FROM unnest($1::text::bigint[], $2::text::text[]) AS chosen (task, slot)
JOIN @agenda ON agenda.task = chosen.task AND agenda.slot = chosen.slot
JOIN @task_state ON task_state.task = agenda.task
WHERE agenda.state IN (0, 1) AND agenda.due <= $3
FOR UPDATE OF task_state, agenda SKIP LOCKED

-- name: queue_oldest
UPDATE @agenda SET state = 1 WHERE (task, slot) IN (
  SELECT task, slot FROM @agenda WHERE state = 0 AND due <= $1 ORDER BY due, task, slot LIMIT $2
  FOR UPDATE SKIP LOCKED
)

-- name: queue_newest
UPDATE @agenda SET state = 1 WHERE (task, slot) IN (
  SELECT task, slot FROM @agenda WHERE state = 0 AND due <= $1 ORDER BY due DESC, task DESC, slot DESC LIMIT $2
  FOR UPDATE SKIP LOCKED
)

-- name: unqueue_not_due
-- A node with a faster clock may have made entries ready that are not due on this node.
UPDATE @agenda SET state = 0 WHERE (task, slot) IN (
  SELECT task, slot FROM @agenda WHERE state = 1 AND due > 0 AND due > $1 FOR UPDATE SKIP LOCKED
)

-- name: ready_owners
-- Index skip scan: jumps from owner to owner, so the cost does not depend on the number of entries.
WITH RECURSIVE owners (owner) AS (
  (SELECT owner FROM @agenda WHERE state = 1 AND owner > $1 ORDER BY owner LIMIT 1)
  UNION ALL
  SELECT (SELECT owner FROM @agenda AS later WHERE later.state = 1 AND later.owner > owners.owner ORDER BY owner LIMIT 1)
  FROM owners WHERE owners.owner IS NOT NULL
)
SELECT owner FROM owners WHERE owner IS NOT NULL LIMIT $2

-- name: due_order_suffices
-- With one owner and no priorities, the rotation of owners gives the order of due instants.
SELECT
  (SELECT min(owner) FROM @tasks) IS NOT DISTINCT FROM (SELECT max(owner) FROM @tasks)
  AND (SELECT priority FROM @agenda WHERE priority <> 0 ORDER BY priority LIMIT 1) IS NULL

-- name: tasks_with_several_entries
-- Usually there are none: an entry is the only one of its task.
SELECT task FROM @agenda WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[]) GROUP BY task HAVING count(*) > 1

-- name: lock_tasks
-- Locks in the order of task numbers, so that two transactions with the same tasks never deadlock. The third column says
-- whether no owner has a limit or is blocked.
SELECT
  task, version, NOT EXISTS (SELECT 1 FROM @lanes WHERE name >= 'owner:' AND name < 'owner;' AND slot_limit IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM @blocked_owners)
FROM @task_state WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[]) ORDER BY task FOR NO KEY UPDATE

-- name: tasks_of_runs
SELECT id, task FROM @live_runs WHERE id = ANY ((SELECT $1::text::text[])::text[])

-- name: live_runs_of_node
SELECT id, token FROM @live_runs WHERE node = $1 ORDER BY id

-- name: reparked
-- The entries of a lane that were parked again eight times; see `encode_entry`.
SELECT task, slot, owner FROM @agenda WHERE state = 3 AND lane = $1 AND waited >= 16
ORDER BY priority DESC, due, task, slot LIMIT $2

-- name: waiting_owners
-- Index skip scan: jumps from owner to owner, so the cost does not depend on the number of entries.
WITH RECURSIVE owners (owner) AS (
  (SELECT owner FROM @agenda WHERE state = 3 AND lane = $1 AND owner > $2 ORDER BY owner LIMIT 1)
  UNION ALL
  SELECT (
    SELECT owner FROM @agenda AS later WHERE later.state = 3 AND later.lane = $1 AND later.owner > owners.owner
    ORDER BY owner LIMIT 1
  )
  FROM owners WHERE owners.owner IS NOT NULL
)
SELECT owner FROM owners WHERE owner IS NOT NULL LIMIT $3

-- name: waiting_of_owners
-- The best entries of each owner in one lane.
SELECT agenda.task, agenda.slot, agenda.owner
FROM unnest($1::text::text[]) AS listed_owner (owner)
CROSS JOIN LATERAL (
  SELECT * FROM @agenda AS waiting WHERE waiting.state = 3 AND waiting.lane = $2 AND waiting.owner = listed_owner.owner
  ORDER BY waiting.priority DESC, waiting.due, waiting.task, waiting.slot LIMIT $3
) AS agenda
ORDER BY agenda.priority DESC, agenda.due, agenda.task, agenda.slot

-- name: waiting_priorities
-- The highest priority of each owner in one lane.
SELECT owner, max(priority) FROM @agenda WHERE state = 3 AND lane = $1 GROUP BY owner

-- name: unpark
UPDATE @agenda SET state = 0 FROM unnest($1::text::bigint[], $2::text::text[]) AS chosen (task, slot)
WHERE agenda.task = chosen.task AND agenda.slot = chosen.slot

-- name: put_lane_turns
INSERT INTO @lane_turns (lane, owner) SELECT * FROM unnest($1::text::text[], $2::text::text[])
ON CONFLICT (lane) DO UPDATE SET owner = excluded.owner

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
ON CONFLICT (lane, at) DO UPDATE SET size = lane_starts.size + excluded.size

-- name: prune_lane_starts
-- Reads from the oldest row on, so the cost does not depend on the number of rows that stay.
DELETE FROM @lane_starts WHERE lane = $1 AND at < (
  SELECT at FROM @lane_starts WHERE lane = $1 AND first_number + size > $2 ORDER BY at LIMIT 1
)

-- name: drop_lane_starts
DELETE FROM @lane_starts WHERE lane = $1

-- name: update_lane_rate
UPDATE @lanes SET started = $2, last_start = $3, wake_at = $4 WHERE name = $1

-- name: waiting_for_nodes
-- Whether entries are parked at these routes, and whether there are entries in the queues of routes.
SELECT
  EXISTS (SELECT 1 FROM @agenda WHERE state = 3 AND lane = ANY ((SELECT $1::text::text[])::text[])),
  EXISTS (SELECT 1 FROM @agenda WHERE state = 5)

-- name: route_queues
-- Index skip scan: jumps from queue to queue, so the cost does not depend on the number of entries.
WITH RECURSIVE queues (lane) AS (
  (SELECT lane FROM @agenda WHERE state = 5 AND lane > '' ORDER BY lane LIMIT 1)
  UNION ALL
  SELECT (SELECT later.lane FROM @agenda AS later WHERE later.state = 5 AND later.lane > queues.lane ORDER BY later.lane LIMIT 1)
  FROM queues WHERE queues.lane IS NOT NULL
)
SELECT lane, (SELECT head.due FROM @agenda AS head WHERE head.state = 5 AND head.lane = queues.lane ORDER BY head.due LIMIT 1)
FROM queues WHERE lane IS NOT NULL

-- name: route_queues_head
SELECT min(due) FROM @agenda WHERE state = 5 AND lane = ANY ((SELECT $1::text::text[])::text[])

-- name: queued_slice
SELECT {entry_columns}, task_state.version
FROM @agenda JOIN @task_state ON task_state.task = agenda.task
WHERE agenda.state = 5 AND agenda.due <= $1 AND agenda.lane = ANY ((SELECT $2::text::text[])::text[])
ORDER BY agenda.due, agenda.task, agenda.slot LIMIT $3
FOR UPDATE OF task_state, agenda SKIP LOCKED

-- name: unpark_routes
-- Entries that another transaction has locked are skipped; the next call unparks them.
UPDATE @agenda SET state = 0, lane = NULL WHERE (task, slot) IN (
  SELECT task, slot FROM @agenda WHERE state = 3 AND lane = ANY ((SELECT $1::text::text[])::text[]) FOR UPDATE SKIP LOCKED
)
RETURNING 1

-- name: join
INSERT INTO @nodes ({node_columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (id) DO UPDATE SET
  home = excluded.home, version = excluded.version, joined = excluded.joined, renewed = excluded.renewed,
  renewals = excluded.renewals, host = excluded.host, load = excluded.load, capacity = excluded.capacity,
  clock_offset = excluded.clock_offset, draining = excluded.draining, labels = excluded.labels

-- name: lock_node
SELECT renewals FROM @nodes WHERE id = $1 FOR UPDATE

-- name: renew_lease
-- Renews the lease of a node and reads all that a heartbeat needs, in one statement: an idle node runs no other.
UPDATE @nodes SET renewed = $2, renewals = renewals + 1, load = $3, clock_offset = $4 WHERE id = $1 RETURNING
  (
    SELECT coalesce(json_agg(json_build_array(id, cancel) ORDER BY id), '[]')::text
    FROM @live_runs WHERE cancel IS NOT NULL AND node = $1
  ),
  (
    SELECT coalesce(json_agg(json_build_array({node_columns}) ORDER BY id), '[]')::text
    FROM @nodes AS other_nodes WHERE other_nodes.id <> $1
  ),
  (SELECT due FROM @agenda WHERE state = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE state = 1 AND due > 0 ORDER BY due LIMIT 1),
  (SELECT wake_at FROM @lanes WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1),
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
  draining,
  (
    SELECT coalesce(json_agg(body::json ORDER BY key), '[]')::text
    FROM @records WHERE kind = 'yield_request' AND key > $1 || '/' AND key < $1 || '0'
  )

-- name: leave
DELETE FROM @nodes WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM @live_runs WHERE node = $1)

-- name: drop_node
DELETE FROM @nodes WHERE id = $1

-- name: drain
UPDATE @nodes SET draining = $1 WHERE id = $2
