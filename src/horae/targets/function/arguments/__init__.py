"""Converts a JSON payload to a function's arguments by their annotations, and Python values to JSON."""
