-- Statements of chains: the rows that tasks have for root occurrences, and the links between tasks.

-- name: linked_tasks
SELECT {task_columns} FROM tasks WHERE tasks.id IN carray(?) ORDER BY tasks.seq

-- name: chain_row
SELECT {chain_row_columns}, tasks.id FROM chain_rows JOIN tasks ON tasks.seq = chain_rows.task
WHERE chain_rows.task = ? AND chain_rows.root = ?

-- name: open_chain_rows
SELECT {chain_row_columns}, tasks.id FROM chain_rows JOIN tasks ON tasks.seq = chain_rows.task
WHERE chain_rows.task = ? AND chain_rows.state = 'open' ORDER BY chain_rows.root

-- name: last_chain_instant
SELECT max(planned) FROM chain_rows WHERE task = ?

-- name: chain_rows_of_root
SELECT {chain_row_columns}, tasks.id FROM chain_rows JOIN tasks ON tasks.seq = chain_rows.task
WHERE chain_rows.root = ? ORDER BY chain_rows.task

-- name: chain_rows_of_task
SELECT {chain_row_columns}, tasks.id FROM chain_rows JOIN tasks ON tasks.seq = chain_rows.task
WHERE tasks.id = ? AND chain_rows.updated <= ? ORDER BY chain_rows.updated DESC, chain_rows.root LIMIT ?

-- name: put_chain_rows
REPLACE INTO chain_rows (task, root, state, planned, attempt, awaited, arrivals, updated) VALUES {rows}
