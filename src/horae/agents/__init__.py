"""Agents of chat groups: protocol, runtimes, mounts, runner, channels, router and requests (docs/decisions/0053-agents.md)."""
