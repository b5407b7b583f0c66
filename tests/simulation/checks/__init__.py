"""Checks of the guarantees, from recorded evidence and the schedules only, independent of the lifecycle code."""
