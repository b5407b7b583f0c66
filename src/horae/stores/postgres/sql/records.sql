-- Statements of the records and of the journal.

-- name: get_record
SELECT {record_columns} FROM @records WHERE kind = $1 AND key = $2

-- name: write_records
-- Inserts, replaces a version, or deletes; each record at most once. Returns the written records; any other was changed
-- concurrently.
WITH
  writings AS MATERIALIZED (
    SELECT * FROM unnest(
      $1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[],
      $7::text::smallint[]
    ) WITH ORDINALITY AS given (kind, key, owner, body, expires, replacing, dropped, place)
  ),
  inserted AS (
    INSERT INTO @records (kind, key, owner, body, expires, version)
    SELECT kind, key, owner, body, expires, 1 FROM writings WHERE replacing IS NULL AND dropped = 0 ORDER BY place
    ON CONFLICT DO NOTHING RETURNING kind, key
  ),
  updated AS (
    UPDATE @records SET
      owner = writings.owner, body = writings.body, expires = writings.expires, version = records.version + 1
    FROM writings WHERE writings.replacing IS NOT NULL AND writings.dropped = 0
      AND records.kind = writings.kind AND records.key = writings.key AND records.version = writings.replacing
    RETURNING records.kind, records.key
  ),
  deleted AS (
    DELETE FROM @records USING writings WHERE writings.replacing IS NOT NULL AND writings.dropped = 1
      AND records.kind = writings.kind AND records.key = writings.key AND records.version = writings.replacing
    RETURNING records.kind, records.key
  )
SELECT kind, key FROM inserted UNION ALL SELECT kind, key FROM updated UNION ALL SELECT kind, key FROM deleted

-- name: records_page
SELECT {record_columns} FROM @records WHERE kind = $1 AND key > $2 ORDER BY key LIMIT $3

-- name: records_page_of_owner
SELECT {record_columns} FROM @records WHERE owner = $4 AND kind = $1 AND key > $2 ORDER BY owner, kind, key LIMIT $3

-- name: newest_records_page
SELECT {record_columns} FROM @records WHERE kind = $1 AND key < $2 ORDER BY key DESC LIMIT $3

-- name: newest_records_page_of_owner
SELECT {record_columns} FROM @records
WHERE owner = $4 AND kind = $1 AND key < $2 ORDER BY owner DESC, kind DESC, key DESC LIMIT $3

-- name: something_expired
SELECT EXISTS (SELECT 1 FROM @records WHERE expires <= $1)

-- name: drop_expired
-- Oldest first. A record that another transaction is renewing is skipped.
DELETE FROM @records WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM @records WHERE expires <= $1 ORDER BY expires, kind, key LIMIT $2 FOR UPDATE SKIP LOCKED
)) RETURNING 1

-- name: last_line_number
-- One search of the index for each run: with GROUP BY, all lines of the runs would be read.
SELECT id, (SELECT max(number) FROM @lines WHERE run_id = id) FROM unnest($1::text::text[]) AS id

-- name: insert_lines
INSERT INTO @lines (run_id, number, at, level, text)
SELECT * FROM unnest($1::text::text[], $2::text::integer[], $3::text::bigint[], $4::text::text[], $5::text::text[])

-- name: newest_progress
SELECT newest.number, newest.run_id, newest.at, newest.level, newest.text
FROM unnest($1::text::text[]) AS given (run_id) CROSS JOIN LATERAL (
  SELECT number, run_id, at, level, text FROM @lines
  WHERE lines.run_id = given.run_id AND level = 'progress'
    AND number > (SELECT max(number) FROM @lines WHERE lines.run_id = given.run_id) - $2
  ORDER BY number DESC LIMIT 1
) AS newest

-- name: lines
SELECT number, run_id, at, level, text FROM @lines WHERE run_id = $1 AND number > $2 ORDER BY number LIMIT $3
