"""Use cases of message streams."""
