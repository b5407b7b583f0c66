"""Values of lanes and of placement: limit, rate, idle runs, routes and node labels."""
