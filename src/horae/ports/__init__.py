"""What the engine and the service need of the world outside: small protocols, at the level of intentions."""
