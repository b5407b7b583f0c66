"""In-memory store: the simplest implementation of the store contract, used as the reference for all others."""

from __future__ import annotations

from .store import MemoryStore

__all__ = ["MemoryStore"]
