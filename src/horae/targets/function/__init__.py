"""Python functions as targets: found by name, called with typed arguments, in the loop, a thread or a child process.

This file imports nothing, because a child process starts here and every import would cost it time.
"""
