"""What all stores on a database server share: many nodes at once, each call one transaction, rows locked task by task.

The order in which locks are taken is the same everywhere, so that nobody waits in a circle: the node, the standings of
tasks by number (who claims skips what others hold), lanes by name, and then everything else that is written.
"""
