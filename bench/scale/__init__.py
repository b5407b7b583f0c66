"""How cost grows on PostgreSQL: with tasks, with what fires in a second, with owners, with nodes."""
