"""Code of all SQL stores: SQLite, PostgreSQL, MySQL and MariaDB.

`store`, `transactions`, `connection_pool`, `session_thread` and `status` are of database servers alone; all other files use
`Statements` and `Transactions`, and SQLite runs them in its threads. On a server, locks are always taken in the same order, so
that no two transactions can deadlock: the node, the states of tasks by task number (a claim skips rows that are locked),
lanes by name, then all other rows.
"""
