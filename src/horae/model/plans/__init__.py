"""Plans of Zero: the byte values of its protocol, the plan as a value, and its states and counters; pure."""
