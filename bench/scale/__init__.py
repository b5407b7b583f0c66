"""Growth of cost on PostgreSQL: with tasks, with fires per second, with owners, with nodes."""
