"""The HTTP API: one file for each resource, every route a function, all of them behind the same door."""
