-- Export of all rows by pages, and import of the rows of another store.

-- name: count_parts
-- Row counts in the order of the parts of a transfer.
SELECT
  EXISTS (SELECT 1 FROM @tokens) + (SELECT COUNT(*) FROM @numbering WHERE last > 0),
  (SELECT COUNT(*) FROM @metadata),
  (SELECT COUNT(*) FROM @records),
  (SELECT COUNT(*) FROM @lanes WHERE slot_limit IS NOT NULL),
  (SELECT COUNT(*) FROM @blocked_owners),
  (SELECT COUNT(*) FROM @nodes),
  (
    SELECT COUNT(*) FROM (
      SELECT 1 FROM (
        SELECT owner, hour, name, number FROM @counters
        UNION ALL
        SELECT owner, hour, name, number FROM @counter_deltas
        UNION ALL
        SELECT {total_owner_columns}, hour, name, number FROM @counter_deltas
      ) AS all_counters GROUP BY owner, hour, name HAVING SUM(number) <> 0
    ) AS counters
  ),
  (SELECT COUNT(*) FROM @tasks),
  (SELECT COUNT(*) FROM @chain_rows),
  (SELECT COUNT(*) FROM @runs),
  (SELECT COUNT(*) FROM @lines),
  (SELECT COUNT(*) FROM @events),
  (SELECT count(*) FROM @streams),
  (SELECT count(*) FROM @messages)

-- name: marks
SELECT COALESCE((SELECT MAX(number) FROM @tokens), 0), (SELECT last FROM @numbering)

-- name: metadata_page
SELECT name, value FROM @metadata WHERE name > $1 ORDER BY name LIMIT $2

-- name: all_records_page
SELECT {record_columns} FROM @records
WHERE kind >= $1 AND (kind > $1 OR record_key > $2) ORDER BY kind, record_key LIMIT $3

-- name: limits_page
SELECT name, slot_limit, rate_starts, rate_period, started, wake_at FROM @lanes WHERE name > $1 AND slot_limit IS NOT NULL ORDER BY name LIMIT $2

-- name: blocked_owners_page
SELECT owner, reason FROM @blocked_owners WHERE owner > $1 ORDER BY owner LIMIT $2

-- name: counters_page
-- Sums of counters and pending deltas.
SELECT owner, hour, name, CAST(SUM(number) AS SIGNED) FROM (
  (
    SELECT owner, hour, name, number FROM @counters
    WHERE hour >= $1 AND (hour, owner, name) > ($1, $2, $3) ORDER BY hour, owner, name LIMIT $4
  )
  UNION ALL
  SELECT owner, hour, name, number FROM @counter_deltas WHERE (hour, owner, name) > ($1, $2, $3)
  UNION ALL
  SELECT {total_owner_columns}, hour, name, number FROM @counter_deltas WHERE (hour, {total_owner_columns}, name) > ($1, $2, $3)
) AS all_counters
GROUP BY hour, owner, name ORDER BY hour, owner, name LIMIT $4

-- name: ended_runs_page
-- In the order of tasks: one instant may have a million runs, which no index by instant could page through.
SELECT {run_columns}, tasks.id FROM @runs AS run STRAIGHT_JOIN @tasks AS tasks ON tasks.seq = run.task
WHERE run.task >= $1 AND (run.task, run.planned, run.attempt, run.origin) > ($1, $2, $3, $4)
ORDER BY run.task, run.planned, run.attempt, run.origin LIMIT $5

-- name: all_lines_page
SELECT number, run_id, at, level, text FROM @lines
WHERE run_id >= $1 AND (run_id > $1 OR number > $2) ORDER BY run_id, number LIMIT $3

-- name: raise_token
-- AUTO_INCREMENT continues after the highest number that was ever written.
INSERT INTO @tokens (number) VALUES ($1) ON DUPLICATE KEY UPDATE number = VALUES(number)

-- name: raise_event_number
UPDATE @numbering SET last = GREATEST(last, $1)

-- name: put_record
INSERT INTO @records (kind, record_key, owner, body, version, expires) VALUES ($1, $2, $3, $4, $5, $6)
ON DUPLICATE KEY UPDATE
  owner = VALUES(owner), body = VALUES(body), version = VALUES(version), expires = VALUES(expires)

-- name: replace_counters
INSERT INTO @counters (owner, hour, name, number) VALUES {rows} ON DUPLICATE KEY UPDATE number = VALUES(number)

-- name: versions_by_id
SELECT tasks.id, tasks.seq, task_state.version
FROM @tasks AS tasks JOIN @task_state AS task_state ON task_state.task = tasks.seq WHERE tasks.id IN ($1)

-- name: drop_definitions
-- For tasks that are imported again: deletes everything of them but their history.
DELETE lane_slots FROM @live_runs AS run STRAIGHT_JOIN @lane_slots AS lane_slots ON lane_slots.run_id = run.id WHERE run.task IN ($1);
DELETE FROM @live_runs WHERE task IN ($1);
DELETE FROM @agenda WHERE task IN ($1);
DELETE FROM @task_state WHERE task IN ($1);
DELETE FROM @labels WHERE task IN ($1);
DELETE FROM @tasks WHERE seq IN ($1)

-- name: import_runs
-- Existing rows win, whether the run has ended or is live.
INSERT INTO @runs ({row_columns}, stray) VALUES {rows} ON DUPLICATE KEY UPDATE @runs.id = @runs.id;
DELETE past FROM @live_runs AS live STRAIGHT_JOIN @runs AS past ON past.task = live.task AND past.planned = live.planned
  AND past.attempt = live.attempt AND past.origin = live.origin
WHERE live.task IN ({column_2})

-- name: import_lines
INSERT INTO @lines (run_id, number, at, level, text) VALUES {rows} ON DUPLICATE KEY UPDATE number = VALUES(number)

-- name: import_events
INSERT INTO @events (number, kind, at, owner, task_id, run_id, detail) VALUES {rows}
ON DUPLICATE KEY UPDATE number = VALUES(number)

-- name: chain_rows_page
SELECT {chain_row_columns}, tasks.id FROM @chain_rows AS chain_rows JOIN @tasks AS tasks ON tasks.seq = chain_rows.task
WHERE (chain_rows.task, chain_rows.root) > ($1, $2) ORDER BY chain_rows.task, chain_rows.root LIMIT $3
