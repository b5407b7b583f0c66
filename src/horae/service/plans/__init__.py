"""Plans of Zero over the service: tasks that are published to stations, with the fields, states and commands of that product."""
