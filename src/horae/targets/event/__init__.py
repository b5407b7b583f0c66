"""Event target: publishes an event when a task is due, to listeners in this process, a Redis channel and a webhook."""
