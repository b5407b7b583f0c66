"""Values of agents: chat groups."""
