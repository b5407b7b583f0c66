"""Contracts of writes: atomicity, attached records, keys, retention, transfer, shared transactions."""
