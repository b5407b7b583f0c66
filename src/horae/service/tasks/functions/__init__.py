"""Registered functions and the tasks that code declares."""
