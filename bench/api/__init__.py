"""How many requests a second the HTTP API answers, and whether the engine beside it notices."""
