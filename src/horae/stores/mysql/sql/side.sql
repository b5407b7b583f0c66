-- Records and the journal.

-- name: get_record
SELECT kind, record_key, owner, body, version FROM @records WHERE kind = $1 AND record_key = $2

-- name: hold_record
SELECT version FROM @records WHERE kind = $1 AND record_key = $2 FOR UPDATE

-- name: insert_record
-- Nothing is written where there is one: whoever asked sees that by the number of rows.
INSERT INTO @records (kind, record_key, owner, body, version) VALUES ($1, $2, $3, $4, 1)
ON DUPLICATE KEY UPDATE kind = VALUES(kind)

-- name: update_record
UPDATE @records SET owner = $3, body = $4, version = version + 1 WHERE kind = $1 AND record_key = $2

-- name: drop_record
DELETE FROM @records WHERE kind = $1 AND record_key = $2

-- name: records_page
SELECT kind, record_key, owner, body, version FROM @records
WHERE kind = $1 AND record_key > $2 AND (NOT $4? OR owner = $4) ORDER BY record_key LIMIT $3

-- name: said
SELECT run_id, MAX(number) FROM @lines WHERE run_id IN ($1) GROUP BY run_id

-- name: insert_lines
INSERT INTO @lines (run_id, number, at, level, text) VALUES {rows}

-- name: lines
SELECT number, run_id, at, level, text FROM @lines WHERE run_id = $1 AND number > $2 ORDER BY number LIMIT $3
