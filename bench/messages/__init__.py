"""Cost of message streams."""
