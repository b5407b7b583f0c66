-- What the dispatcher, the settler and the keeper need.

-- name: head
SELECT
  EXISTS (SELECT 1 FROM nodes WHERE id = :node),
  (SELECT due FROM agenda INDEXED BY agenda_timed WHERE stand = 0 ORDER BY due LIMIT 1),
  (SELECT due FROM agenda INDEXED BY agenda_ready_due WHERE stand = 1 ORDER BY due LIMIT 1)

-- name: timed_slice
-- The count spares most claims another statement: as a rule the entry is the only one of its task.
SELECT
  {entry_columns}, standings.version, (SELECT count(*) FROM agenda AS mine WHERE mine.task = agenda.task)
FROM agenda INDEXED BY agenda_timed JOIN standings ON standings.task = agenda.task
WHERE agenda.stand = 0 AND agenda.due <= ?
ORDER BY agenda.due, agenda.task, agenda.slot LIMIT ?

-- name: ready_slice
SELECT
  {entry_columns}, standings.version, (SELECT count(*) FROM agenda AS mine WHERE mine.task = agenda.task)
FROM agenda INDEXED BY agenda_ready JOIN standings ON standings.task = agenda.task
WHERE agenda.stand = 1 AND agenda.owner = ?
ORDER BY agenda.priority DESC, agenda.due, agenda.task, agenda.slot LIMIT ?

-- name: queue_oldest
UPDATE agenda SET stand = 1 WHERE (task, slot) IN (
  SELECT task, slot FROM agenda INDEXED BY agenda_timed WHERE stand = 0 AND due <= ? ORDER BY due LIMIT ?
)

-- name: queue_newest
UPDATE agenda SET stand = 1 WHERE (task, slot) IN (
  SELECT task, slot FROM agenda INDEXED BY agenda_timed WHERE stand = 0 AND due <= ? ORDER BY due DESC LIMIT ?
)

-- name: not_yet
-- A node with a faster clock may have queued up what is not due for this one.
UPDATE agenda SET stand = 0 WHERE (task, slot) IN (
  SELECT task, slot FROM agenda INDEXED BY agenda_ready_due WHERE stand = 1 AND due > ?
)

-- name: owners_in_turn
-- Jumps from owner to owner along the index, however many entries each of them has.
WITH RECURSIVE turns (owner) AS (
  SELECT (SELECT min(owner) FROM agenda INDEXED BY agenda_ready WHERE stand = 1 AND owner >= :from)
  UNION ALL
  SELECT (SELECT min(agenda.owner) FROM agenda INDEXED BY agenda_ready WHERE stand = 1 AND agenda.owner > turns.owner)
  FROM turns WHERE turns.owner IS NOT NULL
  LIMIT :most
)
SELECT owner FROM turns WHERE owner IS NOT NULL

-- name: next_token
UPDATE tokens SET last = last + 1 RETURNING last

-- name: one_order
-- One owner and no priorities: then owners' turns and the order of due instants are the same.
SELECT
  (SELECT min(owner) FROM tasks) IS (SELECT max(owner) FROM tasks)
  AND NOT EXISTS (SELECT 1 FROM agenda INDEXED BY agenda_prioritised WHERE priority <> 0)

-- name: tasks_of_runs
SELECT id, task FROM runs INDEXED BY runs_live WHERE live = 1 AND id IN carray(?)

-- name: versions
SELECT task, version, (SELECT count(*) FROM agenda WHERE agenda.task = standings.task)
FROM standings WHERE task IN carray(?)

-- name: carried_by
SELECT id, token FROM runs INDEXED BY runs_live WHERE live = 1 AND node = ? ORDER BY id

-- name: start
UPDATE runs INDEXED BY runs_live SET state = 'running', started = ?
WHERE live = 1 AND id = ? AND token = ? AND state = 'claimed' AND cancel IS NULL
RETURNING id, task

-- name: ask_to_end
UPDATE runs INDEXED BY runs_live SET cancel = ? WHERE live = 1 AND id = ?

-- name: unpark
UPDATE agenda SET stand = 0 WHERE (task, slot) IN (
  SELECT task, slot FROM agenda INDEXED BY agenda_parked WHERE stand = 3 AND lane = :lane
  ORDER BY priority DESC, due, task, slot
  LIMIT max(
    0,
    coalesce((SELECT seats FROM lanes WHERE name = :lane), :unset)
    - (SELECT count(*) FROM seats WHERE seats.lane = :lane)
  )
)

-- name: somebody_at_the_door
SELECT EXISTS (SELECT 1 FROM agenda INDEXED BY agenda_parked WHERE stand = 3 AND lane IN carray(?))

-- name: admit
UPDATE agenda SET stand = 0, lane = NULL WHERE stand = 3 AND lane IN carray(?)

-- name: join
REPLACE INTO nodes ({node_columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: renewals
SELECT renewals FROM nodes WHERE id = ?

-- name: extend
-- One statement, because an idle node does nothing else.
UPDATE nodes SET renewed = :now, renewals = renewals + 1, load = :load, clock_offset = :offset
WHERE id = :node RETURNING
  draining,
  (
    SELECT json_group_array(json_array(id, cancel) ORDER BY id)
    FROM runs INDEXED BY runs_asked_to_end WHERE live = 1 AND cancel IS NOT NULL AND node = :node
  ),
  (
    SELECT json_group_array(json_array({node_columns}) ORDER BY id)
    FROM nodes WHERE id <> :node
  ),
  (SELECT due FROM agenda INDEXED BY agenda_timed WHERE stand = 0 ORDER BY due LIMIT 1),
  (SELECT due FROM agenda INDEXED BY agenda_ready_due WHERE stand = 1 ORDER BY due LIMIT 1)

-- name: leave
DELETE FROM nodes WHERE id = :node
AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_live WHERE live = 1 AND node = :node)

-- name: drop_node
DELETE FROM nodes WHERE id = ?
