-- What the janitor and an operator need.

-- name: old
-- One statement, because an idle node asks for nothing else. A run that is too old was planned before that as well, and
-- runs are in the order of their plans; events go from the oldest on, up to the first one that is to stay.
SELECT
  (
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(task, planned, attempt, origin, id) ORDER BY planned, id), ']') FROM (
      SELECT task, planned, attempt, origin, id FROM @runs
      WHERE planned < $1 AND ended < $1 ORDER BY planned LIMIT $2
    ) AS old_runs
  ),
  (
    SELECT CONCAT('[', GROUP_CONCAT(task ORDER BY ended, task), ']') FROM (
      SELECT task, ended FROM @standings AS standings
      WHERE ended < $1 AND state IN ('completed', 'failed', 'cancelled')
        AND NOT EXISTS (SELECT 1 FROM @runs AS run WHERE run.task = standings.task)
        AND NOT EXISTS (SELECT 1 FROM @going AS run WHERE run.task = standings.task)
        AND NOT EXISTS (SELECT 1 FROM @agenda AS agenda WHERE agenda.task = standings.task)
      ORDER BY ended LIMIT $2
    ) AS old_tasks
  ),
  (
    SELECT CONCAT('[', GROUP_CONCAT(number ORDER BY number), ']')
    FROM (SELECT number FROM @events ORDER BY number LIMIT $2) AS oldest
    WHERE number < COALESCE(
      (SELECT MIN(number) FROM (SELECT number, at FROM @events ORDER BY number LIMIT $2) AS among WHERE at >= $1),
      9223372036854775807
    )
  ),
  (SELECT last FROM @numbering),
  EXISTS (SELECT 1 FROM @counted)

-- name: crowded
-- Of so many tasks at a time: the ledger of all of them may take minutes to count.
SELECT task FROM @runs WHERE task > $1 AND task <= $4 GROUP BY task HAVING COUNT(*) > $2 ORDER BY task LIMIT $3

-- name: highest_task
SELECT COALESCE(MAX(seq), 0) FROM @tasks

-- name: recent
-- Up to which event the next so many tell of runs.
SELECT COALESCE(
  (SELECT number FROM @events WHERE number > $1 AND run_id IS NOT NULL ORDER BY number LIMIT 1 OFFSET $2-1), $3
)

-- name: crowded_of_late
SELECT run.task FROM (
  SELECT DISTINCT tasks.seq FROM @events AS told JOIN @tasks AS tasks ON tasks.id = told.task_id
  WHERE told.number > $1 AND told.number <= $2 AND told.run_id IS NOT NULL
) AS of_late
STRAIGHT_JOIN @runs AS run ON run.task = of_late.seq
GROUP BY run.task HAVING COUNT(*) > $3 ORDER BY run.task

-- name: surplus
-- The oldest of those that are not among the newest.
SELECT task, planned, attempt, origin, id FROM (
  SELECT
    task, planned, attempt, origin, id,
    ROW_NUMBER() OVER (ORDER BY planned DESC, attempt DESC, id DESC) AS place
  FROM @runs WHERE task = $1
) AS ranked
WHERE place > $2 ORDER BY planned, attempt, id LIMIT $3

-- name: still_over
-- Without a run as well: one that has ended since it was looked at is not to be forgotten yet.
SELECT task, state, (SELECT owner FROM @tasks AS tasks WHERE tasks.seq = standings.task) FROM @standings AS standings
WHERE task IN ($1) AND state IN ('completed', 'failed', 'cancelled') AND ended < $2
  AND NOT EXISTS (SELECT 1 FROM @runs AS run WHERE run.task = standings.task)
  AND NOT EXISTS (SELECT 1 FROM @going AS run WHERE run.task = standings.task)
  AND NOT EXISTS (SELECT 1 FROM @agenda AS agenda WHERE agenda.task = standings.task)

-- name: drop_runs
DELETE FROM @runs WHERE task IN ($1) AND planned <= $2^ AND (task, planned, attempt, origin) IN ($1+2+3+4)

-- name: drop_lines
DELETE FROM @lines WHERE run_id IN ($1)

-- name: drop_events
-- The number that an owner sees counts what was removed, too.
SELECT owner FROM @events WHERE number <= $1 FOR UPDATE;;
INSERT INTO @records (kind, record_key, owner, body, version)
SELECT 'removed_events', owner, owner, CAST(COUNT(*) AS CHAR), 1 FROM @events WHERE number <= $1 GROUP BY owner
ON DUPLICATE KEY UPDATE body = CAST(CAST(body AS SIGNED) + CAST(VALUES(body) AS SIGNED) AS CHAR), version = version + 1;;
DELETE FROM @events WHERE number <= $1

-- name: fold_counts
-- One at a time; whoever comes second has nothing to do. Rows that are just being written are left for the next time.
SELECT only FROM @folding FOR UPDATE SKIP LOCKED;;
SELECT seq FROM @counted WHERE 1 IN ($found_1) LIMIT 5000 FOR UPDATE SKIP LOCKED;;
INSERT INTO @tallies (owner, hour, name, number)
SELECT owner, hour, name, SUM(number) FROM @counted WHERE seq IN ($found_1) GROUP BY owner, hour, name
ON DUPLICATE KEY UPDATE number = @tallies.number + VALUES(number);
INSERT INTO @tallies (owner, hour, name, number)
SELECT '', hour, name, SUM(number) FROM @counted WHERE seq IN ($found_1) GROUP BY hour, name
ON DUPLICATE KEY UPDATE number = @tallies.number + VALUES(number);
DELETE FROM @counted WHERE seq IN ($found_1)

-- name: drop_tallies
-- As seen from the newest hour, but not from one that is still to come. And the numbers that were given out long ago:
-- nobody is at work any more who was given one of them.
DELETE FROM @tallies
WHERE hour BETWEEN 1 AND LEAST($1, (SELECT hour FROM (SELECT MAX(hour) AS hour FROM @tallies) AS newest)) - $2;
DELETE FROM @tokens WHERE number < (SELECT old FROM (SELECT MAX(number) - 100000 AS old FROM @tokens) AS given)
LIMIT 10000;
DELETE FROM @task_numbers
WHERE number < (SELECT old FROM (SELECT MAX(number) - 100000 AS old FROM @task_numbers) AS given) LIMIT 10000

-- name: drop_unused_lanes
-- Rows that only served to hold a lane nobody has set a limit for.
SELECT name FROM @lanes AS lanes WHERE seats IS NULL
  AND NOT EXISTS (SELECT 1 FROM @seats AS seats WHERE seats.lane = lanes.name)
  AND NOT EXISTS (SELECT 1 FROM @agenda AS agenda WHERE agenda.stand = 3 AND agenda.line = lanes.name)
LIMIT 1000 FOR UPDATE SKIP LOCKED;;
DELETE FROM @lanes WHERE name IN ($found_1)

-- name: orphan_entries
SELECT slot, task FROM @agenda AS agenda WHERE NOT EXISTS (SELECT 1 FROM @tasks AS tasks WHERE tasks.seq = agenda.task)

-- name: orphan_runs
SELECT id, task FROM @runs AS run WHERE NOT EXISTS (SELECT 1 FROM @tasks AS tasks WHERE tasks.seq = run.task)
UNION ALL
SELECT id, task FROM @going AS run WHERE NOT EXISTS (SELECT 1 FROM @tasks AS tasks WHERE tasks.seq = run.task)

-- name: tasks_without_standing
SELECT id FROM @tasks AS tasks WHERE NOT EXISTS (SELECT 1 FROM @standings AS s WHERE s.task = tasks.seq)

-- name: mislabelled_tasks
SELECT COALESCE(MIN(known.id), CONCAT('number ', told.task)) FROM (
  SELECT label, task, owner, 1 AS way FROM @labels
  UNION ALL
  SELECT label, task, owner, -1 FROM ({labels_filter}) AS there
) AS told LEFT JOIN @tasks AS known ON known.seq = told.task
GROUP BY told.task, told.label, told.owner HAVING SUM(way) <> 0 ORDER BY told.task

-- name: wrong_seats
SELECT lane, CAST(SUM(taken) AS SIGNED), CAST(SUM(sitting) AS SIGNED) FROM (
  SELECT lane, COUNT(*) AS taken, 0 AS sitting FROM @seats GROUP BY lane
  UNION ALL
  SELECT sat.lane, 0, COUNT(DISTINCT run.id)
  FROM @going AS run, JSON_TABLE(run.lanes, '$[*]' COLUMNS (
    lane VARCHAR(255) CHARACTER SET utf8mb4 COLLATE {collation} PATH '$'
  )) AS sat
  WHERE run.lanes IS NOT NULL GROUP BY sat.lane
) AS both_ways GROUP BY lane HAVING SUM(taken) <> SUM(sitting) ORDER BY lane

-- name: forgotten_tasks
SELECT tasks.id FROM @tasks AS tasks JOIN @standings AS standings ON standings.task = tasks.seq
WHERE standings.state = 'active'
  AND NOT EXISTS (SELECT 1 FROM @going AS run WHERE run.task = tasks.seq)
  AND NOT EXISTS (SELECT 1 FROM @agenda AS agenda WHERE agenda.task = tasks.seq)
ORDER BY tasks.id

-- name: miscounted_states
SELECT owner, name, CAST(SUM(counted) AS SIGNED), CAST(SUM(there) AS SIGNED) FROM (
  SELECT owner, name, number AS counted, 0 AS there FROM @tallies WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT owner, name, number, 0 FROM @counted WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT '', name, number, 0 FROM @counted WHERE hour = 0 AND name LIKE 'state:%'
  UNION ALL
  SELECT tasks.owner, CONCAT('state:', standings.state), 0, COUNT(*)
  FROM @tasks AS tasks JOIN @standings AS standings ON standings.task = tasks.seq GROUP BY tasks.owner, standings.state
  UNION ALL
  SELECT '', CONCAT('state:', state), 0, COUNT(*) FROM @standings GROUP BY state
) AS all_ways GROUP BY owner, name HAVING SUM(counted) <> SUM(there) ORDER BY owner, name

-- name: both_live_and_over
SELECT live.id FROM @going AS live JOIN @runs AS past ON past.task = live.task AND past.planned = live.planned
  AND past.attempt = live.attempt AND past.origin = live.origin
