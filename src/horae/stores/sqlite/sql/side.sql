-- Records and the journal.

-- name: get_record
SELECT kind, key, owner, body, version FROM records WHERE kind = ? AND key = ?

-- name: insert_record
INSERT INTO records (kind, key, owner, body, version) VALUES (?, ?, ?, ?, 1) ON CONFLICT DO NOTHING

-- name: update_record
UPDATE records SET owner = ?, body = ?, version = version + 1 WHERE kind = ? AND key = ? AND version = ?

-- name: drop_record
DELETE FROM records WHERE kind = ? AND key = ? AND version = ?

-- name: records_page
SELECT kind, key, owner, body, version FROM records
WHERE kind = :kind AND key > :after AND (:owner IS NULL OR owner = :owner) ORDER BY key LIMIT :limit

-- name: said
SELECT coalesce(max(number), 0) FROM lines WHERE run_id = ?

-- name: insert_lines
INSERT INTO lines (run_id, number, at, level, text) VALUES {rows}

-- name: lines
SELECT number, run_id, at, level, text FROM lines WHERE run_id = ? AND number > ? ORDER BY number LIMIT ?
