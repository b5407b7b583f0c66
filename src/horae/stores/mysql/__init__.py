"""MySQL and MariaDB store, which any number of nodes can share."""

from __future__ import annotations

from .store import MySQLStore

__all__ = ["MySQLStore"]
