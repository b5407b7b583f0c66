"""Coroutines that never suspend, run to their end on the calling thread."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar, cast

_T = TypeVar("_T")


def run_to_end(coroutine: Awaitable[_T]) -> _T:
    """Return the result of a coroutine that never suspends."""
    running = cast("Coroutine[Any, Any, _T]", coroutine)
    try:
        running.send(None)
    except StopIteration as end:
        return cast("_T", end.value)
    running.close()
    raise RuntimeError("A coroutine of a transaction on one thread waited for something.")
