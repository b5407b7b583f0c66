-- What the dispatcher, the settler and the keeper need.

-- name: glance
SELECT
  (SELECT due FROM @agenda WHERE stand = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE stand = 1 AND due > 0 ORDER BY due LIMIT 1)
FROM @nodes WHERE id = $1

-- name: heads
SELECT
  (SELECT due FROM @agenda WHERE stand = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE stand = 1 AND due > 0 ORDER BY due LIMIT 1)

-- name: begin_claim
-- The node's row is held against those who take it for dead, and nobody else.
SELECT
  nextval('@tokens'),
  NULL::bigint,
  (SELECT due FROM @agenda WHERE stand = 1 AND due > 0 ORDER BY due LIMIT 1),
  NOT EXISTS (SELECT 1 FROM @lanes WHERE seats IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM @barred)
FROM @nodes WHERE id = $1 FOR KEY SHARE

-- name: timed_slice
SELECT {entry_columns}, standings.version
FROM @agenda JOIN @standings ON standings.task = agenda.task
WHERE agenda.stand = 0 AND agenda.due <= $1
ORDER BY agenda.due, agenda.task, agenda.slot LIMIT $2
FOR UPDATE OF standings, agenda SKIP LOCKED

-- name: peek
SELECT {entry_columns}
FROM @agenda WHERE agenda.stand = 0 AND agenda.due <= $1 ORDER BY agenda.due, agenda.task, agenda.slot LIMIT $2

-- name: ready_slices
-- Of each owner the best of its queue, owner by owner.
SELECT {entry_columns}
FROM unnest($1::text::text[]) WITH ORDINALITY AS turn (owner, place)
CROSS JOIN LATERAL (
  SELECT * FROM @agenda AS mine WHERE mine.stand = 1 AND mine.owner = turn.owner
  ORDER BY mine.priority DESC, mine.due, mine.task, mine.slot LIMIT $2
) AS agenda
ORDER BY turn.place, agenda.priority DESC, agenda.due, agenda.task, agenda.slot

-- name: hold_entries
-- What was chosen may have come back meanwhile, for a later instant.
SELECT {entry_columns}, standings.version
FROM unnest($1::text::bigint[], $2::text::text[]) AS wanted (task, slot)
JOIN @agenda ON agenda.task = wanted.task AND agenda.slot = wanted.slot
JOIN @standings ON standings.task = agenda.task
WHERE agenda.stand IN (0, 1) AND agenda.due <= $3
FOR UPDATE OF standings, agenda SKIP LOCKED

-- name: queue_oldest
UPDATE @agenda SET stand = 1 WHERE (task, slot) IN (
  SELECT task, slot FROM @agenda WHERE stand = 0 AND due <= $1 ORDER BY due, task, slot LIMIT $2
  FOR UPDATE SKIP LOCKED
)

-- name: queue_newest
UPDATE @agenda SET stand = 1 WHERE (task, slot) IN (
  SELECT task, slot FROM @agenda WHERE stand = 0 AND due <= $1 ORDER BY due DESC, task DESC, slot DESC LIMIT $2
  FOR UPDATE SKIP LOCKED
)

-- name: not_yet
-- A node with a faster clock may have queued up what is not due for this one.
UPDATE @agenda SET stand = 0 WHERE (task, slot) IN (
  SELECT task, slot FROM @agenda WHERE stand = 1 AND due > 0 AND due > $1 FOR UPDATE SKIP LOCKED
)

-- name: owners_in_turn
-- Jumps from owner to owner along the index, however many entries each of them has.
WITH RECURSIVE turns (owner) AS (
  (SELECT owner FROM @agenda WHERE stand = 1 AND owner > $1 ORDER BY owner LIMIT 1)
  UNION ALL
  SELECT (SELECT owner FROM @agenda AS next WHERE next.stand = 1 AND next.owner > turns.owner ORDER BY owner LIMIT 1)
  FROM turns WHERE turns.owner IS NOT NULL
)
SELECT owner FROM turns WHERE owner IS NOT NULL LIMIT $2

-- name: one_order
-- One owner and no priorities: then owners' turns and the order of due instants are the same.
SELECT
  (SELECT min(owner) FROM @tasks) IS NOT DISTINCT FROM (SELECT max(owner) FROM @tasks)
  AND (SELECT priority FROM @agenda WHERE priority <> 0 ORDER BY priority LIMIT 1) IS NULL

-- name: crowded_agendas
-- As a rule an entry is the only one of its task.
SELECT task FROM @agenda WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[]) GROUP BY task HAVING count(*) > 1

-- name: hold
-- In the order of their numbers, so that two who want the same tasks never wait for each other.
SELECT
  task, version, NOT EXISTS (SELECT 1 FROM @lanes WHERE seats IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM @barred)
FROM @standings WHERE task = ANY ((SELECT $1::text::bigint[])::bigint[]) ORDER BY task FOR NO KEY UPDATE

-- name: tasks_of_runs
SELECT id, task FROM @going WHERE id = ANY ((SELECT $1::text::text[])::text[])

-- name: carried_by
SELECT id, token FROM @going WHERE node = $1 ORDER BY id

-- name: unpark
UPDATE @agenda SET stand = 0 WHERE (task, slot) IN (
  SELECT task, slot FROM @agenda WHERE stand = 3 AND lane = $1 ORDER BY priority DESC, due, task, slot LIMIT $2
)

-- name: somebody_at_the_door
SELECT EXISTS (SELECT 1 FROM @agenda WHERE stand = 3 AND lane = ANY ((SELECT $1::text::text[])::text[]))

-- name: admit
-- What somebody is deciding on just now is admitted the next time.
UPDATE @agenda SET stand = 0, lane = NULL WHERE (task, slot) IN (
  SELECT task, slot FROM @agenda WHERE stand = 3 AND lane = ANY ((SELECT $1::text::text[])::text[]) FOR UPDATE SKIP LOCKED
)
RETURNING 1

-- name: join
INSERT INTO @nodes ({node_columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (id) DO UPDATE SET
  home = excluded.home, version = excluded.version, joined = excluded.joined, renewed = excluded.renewed,
  renewals = excluded.renewals, host = excluded.host, load = excluded.load, capacity = excluded.capacity,
  clock_offset = excluded.clock_offset, draining = excluded.draining

-- name: hold_node
SELECT renewals FROM @nodes WHERE id = $1 FOR UPDATE

-- name: extend
-- One statement, because an idle node does nothing else.
UPDATE @nodes SET renewed = $2, renewals = renewals + 1, load = $3, clock_offset = $4 WHERE id = $1 RETURNING
  (
    SELECT coalesce(json_agg(json_build_array(id, cancel) ORDER BY id), '[]')::text
    FROM @going WHERE cancel IS NOT NULL AND node = $1
  ),
  (
    SELECT coalesce(json_agg(json_build_array({node_columns}) ORDER BY id), '[]')::text
    FROM @nodes AS others WHERE others.id <> $1
  ),
  (SELECT due FROM @agenda WHERE stand = 0 ORDER BY due, task, slot LIMIT 1),
  (SELECT due FROM @agenda WHERE stand = 1 AND due > 0 ORDER BY due LIMIT 1),
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
  draining

-- name: leave
DELETE FROM @nodes WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM @going WHERE node = $1)

-- name: drop_node
DELETE FROM @nodes WHERE id = $1

-- name: drain
UPDATE @nodes SET draining = $1 WHERE id = $2
