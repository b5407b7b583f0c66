"""Rules of Zero's plans: fields, layout in Redis and results."""
