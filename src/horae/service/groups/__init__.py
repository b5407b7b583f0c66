"""Chat groups and their agents."""
