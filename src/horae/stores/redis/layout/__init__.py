"""Layout of the keys on Redis: names, documents, indexes and counters."""
