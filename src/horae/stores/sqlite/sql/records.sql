-- Statements of the records and of the journal.

-- name: get_record
SELECT {record_columns} FROM records WHERE kind = ? AND key = ?

-- name: insert_records
INSERT INTO records (kind, key, owner, body, expires, version) SELECT *, 1 FROM (VALUES {rows}) WHERE true
ON CONFLICT DO NOTHING RETURNING kind, key

-- name: update_record
UPDATE records SET owner = ?, body = ?, expires = ?, version = version + 1
WHERE kind = ? AND key = ? AND version = ? RETURNING version

-- name: drop_records
DELETE FROM records WHERE (kind, key, version) IN (VALUES {rows}) RETURNING kind, key

-- name: records_page
SELECT {record_columns} FROM records WHERE kind = ? AND key > ? ORDER BY key LIMIT ?

-- name: records_page_of_owner
SELECT {record_columns} FROM records INDEXED BY records_by_owner
WHERE owner = ?4 AND kind = ?1 AND key > ?2 ORDER BY key LIMIT ?3

-- name: newest_records_page
SELECT {record_columns} FROM records WHERE kind = ? AND key < ? ORDER BY key DESC LIMIT ?

-- name: newest_records_page_of_owner
SELECT {record_columns} FROM records INDEXED BY records_by_owner
WHERE owner = ?4 AND kind = ?1 AND key < ?2 ORDER BY key DESC LIMIT ?3

-- name: something_expired
SELECT EXISTS (SELECT 1 FROM records INDEXED BY records_expiring WHERE expires <= ?)

-- name: drop_expired
-- Oldest first.
DELETE FROM records WHERE rowid IN (
  SELECT rowid FROM records INDEXED BY records_expiring WHERE expires <= ? ORDER BY expires, kind, key LIMIT ?
) RETURNING version

-- name: last_line_number
-- One search of the index for each run: with GROUP BY, all lines of the runs would be read.
SELECT value, (SELECT max(number) FROM lines WHERE run_id = value) FROM carray(?)

-- name: insert_lines
INSERT INTO lines (run_id, number, at, level, text) VALUES {rows}

-- name: newest_progress
SELECT lines.number, lines.run_id, lines.at, lines.level, lines.text
FROM carray(?1) AS run_ids CROSS JOIN lines ON lines.run_id = run_ids.value AND lines.number = (
  SELECT newest.number FROM lines AS newest
  WHERE newest.run_id = run_ids.value AND newest.level = 'progress'
    AND newest.number > (SELECT max(number) FROM lines WHERE run_id = run_ids.value) - ?2
  ORDER BY newest.number DESC LIMIT 1
)

-- name: lines
SELECT number, run_id, at, level, text FROM lines WHERE run_id = ? AND number > ? ORDER BY number LIMIT ?
