"""Agents of chat groups: protocol, runtimes, channels and router."""
