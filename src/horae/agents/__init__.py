"""Agents: chat channels, runtimes, turns (see docs/decisions/0053-agents.md)."""
