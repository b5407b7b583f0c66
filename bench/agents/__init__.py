"""Cost of the host of agents."""
