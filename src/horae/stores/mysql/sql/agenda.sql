-- What the dispatcher, the settler and the keeper need.

-- name: glance
SELECT
  (SELECT due FROM @agenda WHERE stand = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE stand = 1 ORDER BY due, task, slot LIMIT 1)
FROM @nodes WHERE id = $1

-- name: heads
SELECT
  (SELECT due FROM @agenda WHERE stand = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE stand = 1 ORDER BY due, task, slot LIMIT 1)

-- name: begin_claim
-- The node's presence is held against those who take it for dead, and nobody else; without it there is no token.
SELECT node FROM @presence WHERE node = $1 LOCK IN SHARE MODE;
INSERT INTO @tokens (number) SELECT NULL FROM @presence WHERE node = $1;
SELECT
  LAST_INSERT_ID(), NULL, (SELECT due FROM @agenda WHERE stand = 1 ORDER BY due, task, slot LIMIT 1), {alone_filter}
FROM @presence WHERE node = $1

-- name: timed_slice
-- First without holding anything, and more than is wanted: what others hold is passed over. Then, from the head on, the
-- standing and after it the entry, until there are enough; nothing is held that is not in the answer. Each is looked up by
-- its key, whatever the server believes of tables that are small: it would read, and hold, all of them, in another order.
SELECT {entry_columns}, standings.version
FROM (
  SELECT task, slot FROM @agenda FORCE INDEX (agenda_timed) WHERE stand = 0 AND due <= $1
  ORDER BY due, task, slot LIMIT $2*4
) AS head
STRAIGHT_JOIN @standings AS standings FORCE INDEX (PRIMARY) ON standings.task = head.task
STRAIGHT_JOIN @agenda AS agenda FORCE INDEX (PRIMARY)
  ON agenda.task = head.task AND agenda.slot = head.slot AND agenda.stand = 0 AND agenda.due <= $1
LIMIT $2 FOR UPDATE SKIP LOCKED

-- name: peek
SELECT {entry_columns}
FROM @agenda AS agenda WHERE agenda.stand = 0 AND agenda.due <= $1 ORDER BY agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: ready_slices
-- Of each owner the best of its queue, owner by owner.
SELECT {entry_columns} FROM (
  [[ (SELECT * FROM @agenda WHERE stand = 1 AND line = $each ORDER BY urgency, due, task, slot LIMIT $2) ]]
) AS agenda
ORDER BY agenda.owner, agenda.urgency, agenda.due, agenda.task, agenda.slot

-- name: hold_entries
-- What was chosen may have come back meanwhile, for a later instant.
SELECT {entry_columns}, standings.version
FROM @standings AS standings FORCE INDEX (PRIMARY)
STRAIGHT_JOIN @agenda AS agenda FORCE INDEX (PRIMARY) ON agenda.task = standings.task
WHERE standings.task IN ($1) AND (agenda.task, agenda.slot) IN ($1+2) AND agenda.stand IN (0, 1) AND agenda.due <= $3
FOR UPDATE SKIP LOCKED

-- name: queue_oldest
SELECT task, slot FROM @agenda FORCE INDEX (agenda_timed) WHERE stand = 0 AND due <= $1
ORDER BY due, task, slot LIMIT $2 FOR UPDATE SKIP LOCKED;;
UPDATE @agenda SET stand = 1 WHERE task IN ($found_1) AND (task, slot) IN ($found)

-- name: queue_newest
SELECT task, slot FROM @agenda FORCE INDEX (agenda_timed) WHERE stand = 0 AND due <= $1
ORDER BY due DESC, task DESC, slot DESC LIMIT $2 FOR UPDATE SKIP LOCKED;;
UPDATE @agenda SET stand = 1 WHERE task IN ($found_1) AND (task, slot) IN ($found)

-- name: not_yet
-- A node with a faster clock may have queued up what is not due for this one.
SELECT task, slot FROM @agenda FORCE INDEX (agenda_timed) WHERE stand = 1 AND due > $1 FOR UPDATE SKIP LOCKED;;
UPDATE @agenda SET stand = 0 WHERE task IN ($found_1) AND (task, slot) IN ($found)

-- name: owners_in_turn
-- Jumps from owner to owner along the index, however many entries each of them has.
WITH RECURSIVE turns (owner, place) AS (
  (SELECT line, 1 FROM @agenda WHERE stand = 1 AND line > $1 ORDER BY line LIMIT 1)
  UNION ALL
  SELECT (SELECT line FROM @agenda AS later WHERE stand = 1 AND line > turns.owner ORDER BY line LIMIT 1), place + 1
  FROM turns WHERE turns.owner IS NOT NULL AND turns.place < $2
)
SELECT owner FROM turns WHERE owner IS NOT NULL ORDER BY place

-- name: one_order
-- One owner and no priorities: then owners' turns and the order of due instants are the same. It is asked for only while
-- nothing is queued up, and what waits for something else has no turn.
SELECT
  (SELECT MIN(owner) FROM @tasks) <=> (SELECT MAX(owner) FROM @tasks)
  AND NOT EXISTS (SELECT 1 FROM @agenda WHERE stand = 0 AND line IS NULL AND urgency <> 0)

-- name: crowded_agendas
-- As a rule an entry is the only one of its task.
SELECT task FROM @agenda WHERE task IN ($1) GROUP BY task HAVING COUNT(*) > 1

-- name: hold
-- In the order of their numbers, so that two who want the same tasks never wait for each other.
SELECT task, version, {alone_filter}
FROM @standings FORCE INDEX (PRIMARY) WHERE task IN ($1) ORDER BY task FOR UPDATE

-- name: tasks_of_runs
SELECT id, task FROM @going WHERE id IN ($1)

-- name: carried_by
SELECT id, token FROM @going WHERE node = $1 ORDER BY id

-- name: unpark
UPDATE @agenda FORCE INDEX (agenda_lines) SET stand = 0 WHERE stand = 3 AND line = $1
ORDER BY urgency, due, task, slot LIMIT $2

-- name: somebody_at_the_door
SELECT EXISTS (SELECT 1 FROM @agenda WHERE stand = 3 AND line IN ($1))

-- name: admit
-- What somebody is deciding on just now is admitted the next time.
SELECT task, slot FROM @agenda FORCE INDEX (agenda_lines) WHERE stand = 3 AND line IN ($1) FOR UPDATE SKIP LOCKED;;
UPDATE @agenda SET stand = 0, lane = NULL WHERE task IN ($found_1) AND (task, slot) IN ($found)

-- name: join
START TRANSACTION;
INSERT INTO @presence (node) VALUES ($1) ON DUPLICATE KEY UPDATE node = VALUES(node);
INSERT INTO @nodes ({node_columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON DUPLICATE KEY UPDATE
  home = VALUES(home), version = VALUES(version), joined = VALUES(joined), renewed = VALUES(renewed),
  renewals = VALUES(renewals), host = VALUES(host), carrying = VALUES(carrying), capacity = VALUES(capacity),
  clock_offset = VALUES(clock_offset), draining = VALUES(draining);
COMMIT

-- name: hold_node
-- Its presence first: while a long claim of it is waited for, it can still renew.
SELECT node FROM @presence WHERE node = $1 FOR UPDATE;
SELECT renewals FROM @nodes WHERE id = $1 FOR UPDATE

-- name: extend
UPDATE @nodes SET renewed = $2, renewals = renewals + 1, carrying = $3, clock_offset = $4 WHERE id = $1;
SELECT
  (
    SELECT COALESCE(CONCAT('[', GROUP_CONCAT(JSON_ARRAY(id, cancel) ORDER BY id), ']'), '[]')
    FROM @going WHERE node = $1 AND cancel IS NOT NULL
  ),
  (
    SELECT COALESCE(CONCAT('[', GROUP_CONCAT(JSON_ARRAY({node_columns}) ORDER BY id), ']'), '[]')
    FROM @nodes WHERE id <> $1
  ),
  (SELECT due FROM @agenda WHERE stand = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE stand = 1 ORDER BY due, task, slot LIMIT 1),
  TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
  draining
FROM @nodes WHERE id = $1

-- name: leave
START TRANSACTION;
SELECT node FROM @presence WHERE node = $1 FOR UPDATE;
DELETE FROM @nodes WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM @going WHERE node = $1);
DELETE FROM @presence WHERE node = $1 AND NOT EXISTS (SELECT 1 FROM @going WHERE node = $1);
COMMIT

-- name: drop_node
DELETE FROM @nodes WHERE id = $1;
DELETE FROM @presence WHERE node = $1

-- name: drain
UPDATE @nodes SET draining = $1 WHERE id = $2
