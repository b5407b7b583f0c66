"""Horae and its peers on one Redis server."""
