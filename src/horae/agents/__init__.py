"""Agents: the protocol, the runtimes that isolate them, the mounts that they may have, the runner inside."""
