"""Store on Redis: documents with versions, committed by one script (docs/decisions/0055-redis.md)."""

from __future__ import annotations

from .store import RedisStore

__all__ = ["RedisStore"]
