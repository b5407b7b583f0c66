-- Statements of chains: the rows that tasks have for root occurrences, and the links between tasks.

-- name: lock_chain_owner
-- One transaction at a time edits the links of an owner's tasks.
INSERT INTO @chain_owners (owner) VALUES ($1) ON DUPLICATE KEY UPDATE owner = VALUES(owner)

-- name: linked_tasks
SELECT {task_columns} FROM @tasks AS tasks WHERE tasks.id IN ($1) ORDER BY tasks.seq

-- name: chain_row
SELECT {chain_row_columns}, tasks.id FROM @chain_rows AS chain_rows JOIN @tasks AS tasks ON tasks.seq = chain_rows.task
WHERE chain_rows.task = $1 AND chain_rows.root = $2

-- name: open_chain_rows
SELECT {chain_row_columns}, tasks.id FROM @chain_rows AS chain_rows JOIN @tasks AS tasks ON tasks.seq = chain_rows.task
WHERE chain_rows.task = $1 AND chain_rows.state = 'open' ORDER BY chain_rows.root

-- name: last_chain_instant
SELECT max(planned) FROM @chain_rows WHERE task = $1

-- name: chain_rows_of_root
SELECT {chain_row_columns}, tasks.id FROM @chain_rows AS chain_rows JOIN @tasks AS tasks ON tasks.seq = chain_rows.task
WHERE chain_rows.root = $1 ORDER BY chain_rows.task

-- name: chain_rows_of_task
SELECT {chain_row_columns}, tasks.id FROM @chain_rows AS chain_rows JOIN @tasks AS tasks ON tasks.seq = chain_rows.task
WHERE tasks.id = $1 AND chain_rows.updated <= $2 ORDER BY chain_rows.updated DESC, chain_rows.root LIMIT $3

-- name: put_chain_rows
INSERT INTO @chain_rows (task, root, state, planned, attempt, awaited, arrivals, updated) VALUES {rows}
ON DUPLICATE KEY UPDATE
  state = VALUES(state), planned = VALUES(planned), attempt = VALUES(attempt), awaited = VALUES(awaited),
  arrivals = VALUES(arrivals), updated = VALUES(updated)
