"""Requests of agents: files that a container writes, claimed, checked and answered by the host."""
