"""The store in memory: the plainest one that keeps every promise, and the measure for all others."""

from __future__ import annotations

from .store import MemoryStore

__all__ = ["MemoryStore"]
