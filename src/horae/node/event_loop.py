"""Event loop of a node's processes: uvloop where it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_fast(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on the fastest installed event loop."""
    with asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(main)


def _factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - an extra, needed only by processes with an engine or the API
    except ImportError:
        return None
    return uvloop.new_event_loop


def loop_name() -> str:
    """Return the package of the running event loop, for example `uvloop`."""
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]
