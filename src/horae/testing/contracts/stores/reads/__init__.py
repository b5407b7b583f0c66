"""Contracts of reads: task and run listings, overview queries, counts, the event log."""
