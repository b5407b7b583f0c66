"""Reads on Redis: pages of tasks and runs, waiting entries, and indexes with their documents."""
