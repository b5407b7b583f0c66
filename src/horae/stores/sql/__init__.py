"""Store on a database server (many nodes at once, row locks on tasks), and the parts that SQLite shares with it.

Shared are the files that use only `Statements` and `Transactions`. On a server, locks are always taken in the same order, so
that no two transactions can deadlock: the node, the states of tasks by task number (a claim skips rows that are locked),
lanes by name, then all other rows.
"""
