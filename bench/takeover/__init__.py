"""Takeover time after a node was killed, frozen or cut off, or its database was away."""
