"""Optimistic transactions on Redis: documents with versions, and the writes of each port."""
