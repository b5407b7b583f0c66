"""Throughput of the HTTP API, and its effect on the engine in the same deployment."""
