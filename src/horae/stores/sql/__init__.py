"""SQL store on a database server: many nodes at once, one transaction for each call, row locks on tasks.

Locks are always taken in the same order, so that no two transactions can deadlock: the node, the states of tasks by task
number (a claim skips rows that are locked), lanes by name, then all other rows.
"""
