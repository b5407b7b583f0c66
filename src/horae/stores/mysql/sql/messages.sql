-- Statements of message streams, their messages, cursors and gaps.

-- name: stream_columns
streams.id, streams.owner, streams.name, streams.created, streams.first_number, streams.last_number, streams.bytes,
streams.keep, streams.keep_for, streams.oldest

-- name: message_columns
messages.stream, messages.number, messages.at, messages.sender, messages.source, messages.source_id, messages.text,
messages.refs

-- name: stream_row
SELECT {stream_columns} FROM @streams AS streams WHERE streams.owner = $1 AND streams.name = $2

-- name: lock_stream
-- Numbers rise in the order of commits: the row stays locked until the transaction ends.
SELECT {stream_columns} FROM @streams AS streams WHERE streams.owner = $1 AND streams.name = $2 FOR UPDATE

-- name: create_stream
INSERT INTO @streams (owner, name, created, first_number, last_number, bytes, keep, keep_for) VALUES ($1, $2, $3, 1, 0, 0, $4, $5)
ON DUPLICATE KEY UPDATE name = VALUES(name)

-- name: update_stream
UPDATE @streams SET
  first_number = $2, last_number = $3, bytes = $4, keep = $5, keep_for = $6, oldest = $7
WHERE id = $1

-- name: known_messages
SELECT messages.source, messages.source_id, messages.number FROM @messages AS messages
WHERE messages.stream = $1 AND (messages.source, messages.source_id) IN ($2+3)

-- name: insert_messages
INSERT INTO @messages (stream, number, at, sender, source, source_id, text, refs, bytes) VALUES {rows}

-- name: append_message
-- As insert_messages and update_stream, for one message.
INSERT INTO @messages (stream, number, at, sender, source, source_id, text, refs, bytes)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);
UPDATE @streams SET last_number = $10, bytes = $11, oldest = $12 WHERE id = $1

-- name: messages_page
SELECT {message_columns} FROM @messages AS messages
WHERE messages.stream = $1 AND messages.number > $2 ORDER BY messages.number LIMIT $3

-- name: stream_cursors
SELECT reader, number, moved FROM @cursors WHERE stream = $1 ORDER BY reader

-- name: put_cursor
INSERT INTO @cursors (stream, reader, number, moved) VALUES ($1, $2, $3, $4)
ON DUPLICATE KEY UPDATE number = VALUES(number), moved = VALUES(moved)

-- name: drop_cursor
DELETE FROM @cursors WHERE stream = $1 AND reader = $2

-- name: drop_cursors
DELETE FROM @cursors WHERE stream = $1

-- name: stream_gaps
SELECT first_number, last_number, at FROM @message_gaps WHERE stream = $1 ORDER BY first_number

-- name: drop_gaps
DELETE FROM @message_gaps WHERE stream = $1

-- name: insert_gaps
INSERT INTO @message_gaps (stream, first_number, last_number, at) VALUES {rows}

-- name: stream_usage
SELECT count(*), coalesce(sum(bytes), 0) FROM @streams WHERE owner = $1

-- name: streams_page
SELECT {stream_columns} FROM @streams AS streams
WHERE streams.owner >= $1 AND (streams.owner > $1 OR streams.name > $2)
ORDER BY streams.owner, streams.name LIMIT $3

-- name: streams_page_of_owner
SELECT {stream_columns} FROM @streams AS streams
WHERE streams.owner = $1 AND streams.name > $2 ORDER BY streams.name LIMIT $3

-- name: streams_to_trim
-- Beyond a cap, or passed by every reader and old enough. Instants and durations in microseconds.
SELECT streams.owner, streams.name FROM @streams AS streams
WHERE streams.first_number <= streams.last_number AND (
  streams.last_number - streams.first_number + 1 > coalesce(streams.keep, $2)
  OR streams.oldest < $1 - coalesce(streams.keep_for, $3)
  OR (
    streams.oldest < $1 - $4
    AND streams.first_number <= (SELECT min(number) FROM @cursors AS cursors WHERE cursors.stream = streams.id)
  )
)
ORDER BY streams.owner, streams.name LIMIT $5

-- name: first_message_since
SELECT min(number) FROM @messages WHERE stream = $1 AND number BETWEEN $2 AND $3 AND at >= $4

-- name: message_bytes
SELECT coalesce(sum(bytes), 0) FROM @messages WHERE stream = $1 AND number <= $2

-- name: message_instant
SELECT at FROM @messages WHERE stream = $1 AND number = $2

-- name: drop_messages
DELETE FROM @messages WHERE stream = $1 AND number <= $2

-- name: drop_stream
DELETE FROM @streams WHERE id = $1

-- name: streams_transfer_page
SELECT {stream_columns} FROM @streams AS streams WHERE streams.id > $1 ORDER BY streams.id LIMIT $2

-- name: messages_transfer_page
SELECT {message_columns}, streams.owner, streams.name FROM @messages AS messages JOIN @streams AS streams ON streams.id = messages.stream
WHERE messages.stream >= $1 AND (messages.stream > $1 OR messages.number > $2)
ORDER BY messages.stream, messages.number LIMIT $3

-- name: import_messages
INSERT INTO @messages (stream, number, at, sender, source, source_id, text, refs, bytes)
SELECT streams.id, given.c3, given.c4, given.c5, given.c6, given.c7, given.c8, given.c9, given.c10
FROM ({selects}) AS given JOIN @streams AS streams ON streams.owner = given.c1 AND streams.name = given.c2
ON DUPLICATE KEY UPDATE number = VALUES(number)

-- name: orphan_messages
SELECT DISTINCT messages.stream FROM @messages AS messages LEFT JOIN @streams AS streams ON streams.id = messages.stream WHERE streams.id IS NULL

-- name: wrong_stream_numbers
SELECT streams.owner, streams.name FROM @streams AS streams
LEFT JOIN (
  SELECT stream, min(number) AS lowest, max(number) AS highest, count(*) AS stored, sum(bytes) AS size
  FROM @messages GROUP BY stream
) AS found ON found.stream = streams.id
WHERE coalesce(found.stored, 0) <> streams.last_number - streams.first_number + 1
  OR coalesce(found.lowest, streams.first_number) <> streams.first_number
  OR coalesce(found.highest, streams.last_number) <> streams.last_number
  OR coalesce(found.size, 0) <> streams.bytes

-- name: wrong_cursors
SELECT cursors.reader, cursors.stream FROM @cursors AS cursors LEFT JOIN @streams AS streams ON streams.id = cursors.stream
WHERE streams.id IS NULL OR cursors.number > streams.last_number
