"""Function target: calls registered Python functions with typed arguments, on the loop, in a thread or a child process.

This file imports nothing, because every child process loads it and imports would slow its start.
"""
