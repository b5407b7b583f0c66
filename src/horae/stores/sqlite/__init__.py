"""The store in one SQLite file: the default, durable through power loss, shared by the processes of one machine."""

from __future__ import annotations

from .store import SQLiteStore

__all__ = ["SQLiteStore"]
