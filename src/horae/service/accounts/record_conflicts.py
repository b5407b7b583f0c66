"""Somebody else was faster with a record: an answer, not an error."""

from __future__ import annotations

from collections.abc import Awaitable

from ...errors import Conflict

_CODE = "record_changed"


def lost_over(conflict: Conflict, kind: str) -> bool:
    """Whether a record of that kind was changed meanwhile, so that it is worth looking again."""
    return conflict.code == _CODE and conflict.facts.get("kind") == kind


async def unless_changed(call: Awaitable[object]) -> bool:
    """Whether it was written; False when a record beside it had been changed meanwhile."""
    try:
        await call
    except Conflict as conflict:
        if conflict.code != _CODE:
            raise
        return False
    return True
