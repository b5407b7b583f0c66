"""The guarantees, one file for each kind, judged from what was recorded and from the schedules, never by the rules themselves."""
