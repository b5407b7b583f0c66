"""Composition of the host of agents: runtimes, channels and their webhooks."""
