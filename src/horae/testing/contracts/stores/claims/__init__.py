"""Contracts of claiming, settling, recovery, lanes, nodes and routes."""
