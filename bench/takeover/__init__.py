"""How long it takes until somebody goes on, after a node was killed, frozen or cut off, or its database was away."""
