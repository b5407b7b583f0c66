-- Records and the journal.

-- name: get_record
SELECT kind, key, owner, body, version FROM @records WHERE kind = $1 AND key = $2

-- name: hold_record
SELECT version FROM @records WHERE kind = $1 AND key = $2 FOR UPDATE

-- name: insert_record
INSERT INTO @records (kind, key, owner, body, version) VALUES ($1, $2, $3, $4, 1) ON CONFLICT DO NOTHING RETURNING 1

-- name: update_record
UPDATE @records SET owner = $3, body = $4, version = version + 1 WHERE kind = $1 AND key = $2

-- name: drop_record
DELETE FROM @records WHERE kind = $1 AND key = $2

-- name: records_page
SELECT kind, key, owner, body, version FROM @records
WHERE kind = $1 AND key > $2 AND ($4::text IS NULL OR owner = $4) ORDER BY key LIMIT $3

-- name: said
SELECT run_id, max(number) FROM @lines WHERE run_id = ANY ((SELECT $1::text::text[])::text[]) GROUP BY run_id

-- name: insert_lines
INSERT INTO @lines (run_id, number, at, level, text)
SELECT * FROM unnest($1::text::text[], $2::text::integer[], $3::text::bigint[], $4::text::text[], $5::text::text[])

-- name: lines
SELECT number, run_id, at, level, text FROM @lines WHERE run_id = $1 AND number > $2 ORDER BY number LIMIT $3
