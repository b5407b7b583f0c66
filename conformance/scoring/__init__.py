"""Scores a cron library, in whatever language it is written, on the cases of the kit."""
