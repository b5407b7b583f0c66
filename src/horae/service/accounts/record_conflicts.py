"""Optimistic concurrency on records: a write that lost against another writer is a return value, not an error."""

from __future__ import annotations

from collections.abc import Awaitable

from ...errors import Conflict

_CODE = "record_changed"


def is_conflict_over(conflict: Conflict, kind: str) -> bool:
    """Whether another writer changed a record of that kind meanwhile, so that a retry makes sense."""
    return conflict.code == _CODE and conflict.facts.get("kind") == kind


async def write_unless_changed(call: Awaitable[object]) -> bool:
    """Await a write; return False if another writer had changed an attached record meanwhile."""
    try:
        await call
    except Conflict as conflict:
        if conflict.code != _CODE:
            raise
        return False
    return True
