"""SQLite store, the default: one file, durable through power loss, shared by the processes of one machine."""

from __future__ import annotations

from .store import SQLiteStore

__all__ = ["SQLiteStore"]
