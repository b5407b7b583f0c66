"""Connections to Redis: addresses, errors, wake-ups, versions, the status and the backup of the server."""
