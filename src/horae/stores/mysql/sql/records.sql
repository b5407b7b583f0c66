-- Statements of the records and of the journal.

-- name: get_record
SELECT {record_columns} FROM @records WHERE kind = $1 AND record_key = $2

-- name: insert_record
-- An existing record is not changed; the caller sees that by the number of affected rows.
INSERT INTO @records (kind, record_key, owner, body, expires, version) VALUES ($1, $2, $3, $4, $5, 1)
ON DUPLICATE KEY UPDATE kind = VALUES(kind)

-- name: update_record
UPDATE @records SET owner = $3, body = $4, expires = $5, version = version + 1
WHERE kind = $1 AND record_key = $2 AND version = $6

-- name: drop_record
DELETE FROM @records WHERE kind = $1 AND record_key = $2 AND version = $6

-- name: records_page
SELECT {record_columns} FROM @records WHERE kind = $1 AND record_key > $2 ORDER BY record_key LIMIT $3

-- name: records_page_of_owner
SELECT {record_columns} FROM @records FORCE INDEX (records_by_owner)
WHERE owner = $4 AND kind = $1 AND record_key > $2 ORDER BY record_key LIMIT $3

-- name: newest_records_page
SELECT {record_columns} FROM @records WHERE kind = $1 AND record_key < $2 ORDER BY record_key DESC LIMIT $3

-- name: newest_records_page_of_owner
SELECT {record_columns} FROM @records FORCE INDEX (records_by_owner)
WHERE owner = $4 AND kind = $1 AND record_key < $2 ORDER BY record_key DESC LIMIT $3

-- name: something_expired
SELECT EXISTS (SELECT 1 FROM @records FORCE INDEX (records_expiring) WHERE expires <= $1)

-- name: drop_expired
-- Oldest first.
DELETE FROM @records WHERE expires <= $1 ORDER BY expires, kind, record_key LIMIT $2

-- name: last_line_number
-- One search of the primary key for each run: with GROUP BY, all lines of the runs would be read.
[[ (SELECT run_id, number FROM @lines WHERE run_id = $each ORDER BY run_id DESC, number DESC LIMIT 1) ]]

-- name: insert_lines
INSERT INTO @lines (run_id, number, at, level, text) VALUES {rows}

-- name: newest_progress
SELECT line.number, line.run_id, line.at, line.level, line.text
FROM (
  [[ (SELECT run_id, number AS last FROM @lines WHERE run_id = $each ORDER BY run_id DESC, number DESC LIMIT 1) ]]
) AS ends
JOIN @lines AS line ON line.run_id = ends.run_id AND line.number > ends.last - $2
WHERE line.level = 'progress'

-- name: lines
SELECT number, run_id, at, level, text FROM @lines WHERE run_id = $1 AND number > $2 ORDER BY number LIMIT $3
