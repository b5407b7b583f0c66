"""Actors of one node: each is a `step` and a short loop around it.

alarm           sleeps until an entry is due              dispatcher      claims due entries
runner          executes runs, one asyncio task each      settler         commits settlements in batches (group commit)
releaser        releases runs that the node gives up      keeper          renews the lease, recovers dead nodes
janitor         applies retention                         journal_writer  writes run logs in batches
admission       checks clock and lease at the start       clock_follower  replans after the wall clock was set back
engine          starts and stops all of them

Where the store has a clock of its own, all actors use it (`store_clock`).
"""
