-- Export of all rows by pages, and import of the rows of another store.

-- name: count_parts
-- Row counts in the order of the parts of a transfer.
SELECT
  (SELECT count(*) FROM @tokens WHERE is_called) + (SELECT count(*) FROM @numbering WHERE last > 0),
  (SELECT count(*) FROM @metadata),
  (SELECT count(*) FROM @records),
  (SELECT count(*) FROM @lanes WHERE slot_limit IS NOT NULL),
  (SELECT count(*) FROM @blocked_owners),
  (SELECT count(*) FROM @nodes),
  (
    SELECT count(*) FROM (
      SELECT 1 FROM (
        SELECT owner, hour, name, number FROM @counters
        UNION ALL
        SELECT owner, hour, name, number FROM @counter_deltas
        UNION ALL
        SELECT {total_owner_columns}, hour, name, number FROM @counter_deltas
      ) AS all_counters GROUP BY owner, hour, name HAVING sum(number) <> 0
    ) AS counters
  ),
  (SELECT count(*) FROM @tasks),
  (SELECT count(*) FROM @chain_rows),
  (SELECT count(*) FROM @runs),
  (SELECT count(*) FROM @lines),
  (SELECT count(*) FROM @events) + (SELECT coalesce(sum(size - removed), 0) FROM @packed_events)::bigint,
  (SELECT count(*) FROM @streams),
  (SELECT count(*) FROM @messages)

-- name: marks
SELECT (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM @tokens), (SELECT last FROM @numbering)

-- name: metadata_page
SELECT name, value FROM @metadata WHERE name > $1 ORDER BY name LIMIT $2

-- name: all_records_page
SELECT {record_columns} FROM @records WHERE (kind, key) > ($1::text, $2::text) ORDER BY kind, key LIMIT $3

-- name: limits_page
SELECT name, slot_limit, rate_starts, rate_period, started, wake_at FROM @lanes WHERE name > $1 AND slot_limit IS NOT NULL ORDER BY name LIMIT $2

-- name: blocked_owners_page
SELECT owner, reason FROM @blocked_owners WHERE owner > $1 ORDER BY owner LIMIT $2

-- name: counters_page
-- Sums of counters and pending deltas.
WITH
  pending AS MATERIALIZED (
    SELECT owner, hour, name, sum(number) AS number FROM (
      SELECT owner, hour, name, number FROM @counter_deltas
      UNION ALL
      SELECT {total_owner_columns}, hour, name, number FROM @counter_deltas
    ) AS owners_and_all GROUP BY owner, hour, name
  ),
  page AS (
    (
      SELECT hour, owner, name FROM @counters
      WHERE (hour, owner, name) > ($1::bigint, $2::text, $3::text) ORDER BY hour, owner, name LIMIT $4
    )
    UNION
    SELECT hour, owner, name FROM pending WHERE (hour, owner, name) > ($1::bigint, $2::text, $3::text)
    ORDER BY hour, owner, name LIMIT $4
  )
SELECT owner, hour, name, (coalesce(counters.number, 0) + coalesce(pending.number, 0))::bigint
FROM page LEFT JOIN @counters USING (hour, owner, name) LEFT JOIN pending USING (hour, owner, name)
ORDER BY hour, owner, name

-- name: ended_runs_page
-- In the order of tasks: one instant may have a million runs, which no index by instant could page through.
SELECT {run_columns}, tasks.id FROM @runs AS run JOIN @tasks ON tasks.seq = run.task
WHERE (run.task, run.planned, run.attempt, run.origin) > ($1::bigint, $2::bigint, $3::integer, $4::text)
ORDER BY run.task, run.planned, run.attempt, run.origin LIMIT $5

-- name: all_lines_page
SELECT number, run_id, at, level, text FROM @lines
WHERE (run_id, number) > ($1::text, $2::integer) ORDER BY run_id, number LIMIT $3

-- name: raise_token
SELECT setval('@tokens', greatest($1::bigint, last_value)) FROM @tokens

-- name: raise_event_number
UPDATE @numbering SET last = greatest(last, $1)

-- name: put_record
INSERT INTO @records (kind, key, owner, body, version, expires) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (kind, key) DO UPDATE SET
  owner = excluded.owner, body = excluded.body, version = excluded.version, expires = excluded.expires

-- name: replace_counters
INSERT INTO @counters (owner, hour, name, number)
SELECT * FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[])
ON CONFLICT (hour, owner, name) DO UPDATE SET number = excluded.number

-- name: versions_by_id
SELECT tasks.id, tasks.seq, task_state.version FROM @tasks JOIN @task_state ON task_state.task = tasks.seq
WHERE tasks.id = ANY ((SELECT $1::text::text[])::text[])

-- name: drop_definitions
-- For tasks that are imported again: deletes everything of them but their history.
WITH
  given_tasks AS MATERIALIZED (SELECT unnest($1::text::bigint[]) AS number),
  deleted_slots AS (
    DELETE FROM @lane_slots WHERE run_id IN (SELECT id FROM @live_runs JOIN given_tasks ON live_runs.task = given_tasks.number)
  ),
  deleted_live_runs AS (DELETE FROM @live_runs USING given_tasks WHERE live_runs.task = given_tasks.number),
  deleted_entries AS (DELETE FROM @agenda USING given_tasks WHERE agenda.task = given_tasks.number),
  deleted_statuses AS (DELETE FROM @task_state USING given_tasks WHERE task_state.task = given_tasks.number)
DELETE FROM @tasks USING given_tasks WHERE tasks.seq = given_tasks.number

-- name: import_runs
INSERT INTO @runs ({row_columns}, stray)
SELECT * FROM unnest(
  $1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::integer[], $8::text::text[],
  $9::text::text[], $10::text::bigint[], $11::text::text[], $12::text::bigint[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::bigint[],
  $17::text::bigint[], $18::text::bigint[], $19::text::integer[], $20::text::integer[], $21::text::smallint[], $22::text::smallint[], $23::text::text[],
  $24::text::text[], $25::text::text[], $26::text::text[], $27::text::text[], $28::text::text[], $29::text::smallint[]
) AS imported ({row_columns}, stray)
WHERE NOT EXISTS (SELECT 1 FROM @live_runs WHERE live_runs.id = imported.id)
ON CONFLICT DO NOTHING

-- name: import_lines
INSERT INTO @lines (run_id, number, at, level, text)
SELECT * FROM unnest($1::text::text[], $2::text::integer[], $3::text::bigint[], $4::text::text[], $5::text::text[])
ON CONFLICT DO NOTHING

-- name: import_events
-- Stored in blocks of 1024 numbers, each as the events of one transaction before all others: an event has the same place
-- wherever the imported page begins.
WITH
  imported AS MATERIALIZED (
    SELECT number / 1024 * 1024 AS first, (number % 1024)::integer AS place, kind, at, owner, task_id, run_id, detail
    FROM unnest(
      $1::text::bigint[], $2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[]
    ) AS event (number, kind, at, owner, task_id, run_id, detail)
  ),
  inserted_batches AS (
    INSERT INTO @event_batches (tx, size, first) SELECT DISTINCT first - 4611686018427387904, 1024, first FROM imported
    ON CONFLICT DO NOTHING
  )
INSERT INTO @events (tx, place, kind, at, owner, task_id, run_id, detail)
SELECT first - 4611686018427387904, place, kind, at, owner, task_id, run_id, detail FROM imported
ON CONFLICT DO NOTHING

-- name: chain_rows_page
SELECT {chain_row_columns}, tasks.id FROM @chain_rows JOIN @tasks ON tasks.seq = chain_rows.task
WHERE (chain_rows.task, chain_rows.root) > ($1::bigint, $2::text) ORDER BY chain_rows.task, chain_rows.root LIMIT $3
