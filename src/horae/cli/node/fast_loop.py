"""The event loop of a node: the faster one where it is installed, else that of Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_fast(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(main)


def _factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - an extra, and only for whoever runs an engine
    except ImportError:
        return None
    return uvloop.new_event_loop


def loop_name() -> str:
    """Which one is running."""
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]
