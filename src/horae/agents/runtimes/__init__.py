"""Runtimes of agents: podman and docker by their command line, bubblewrap, and a plain process."""
