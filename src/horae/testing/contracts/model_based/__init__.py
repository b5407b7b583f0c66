"""Model-based test of a store: Hypothesis makes the same calls on it and on the in-memory store and compares the answers."""
