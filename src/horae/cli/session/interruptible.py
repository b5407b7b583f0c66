"""Event loop of a command: Ctrl-C ends the coroutine, never the creation or the closing of the loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


def run_interruptible(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine like `asyncio.run`; raises `KeyboardInterrupt` after the loop was closed.

    `asyncio.run` handles SIGINT only while the coroutine runs: a signal a moment earlier or later leaves a loop that is
    half made or not closed, whose finalizer prints a traceback.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return asyncio.run(main)
    interrupt = _Interrupt()
    signal.signal(signal.SIGINT, interrupt.handle)
    try:
        with asyncio.Runner() as runner:
            result = runner.run(interrupt.watch(main))
    except asyncio.CancelledError:
        if not interrupt.number:
            raise
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if interrupt.number:
        raise KeyboardInterrupt
    return result


class _Interrupt:
    """Handler of SIGINT: the first cancels the coroutine, or waits until it runs; the second ends it at once."""

    def __init__(self) -> None:
        self.number = 0
        self._task: asyncio.Task[Any] | None = None

    def handle(self, _signal: int, _frame: FrameType | None) -> None:
        self.number += 1
        if self.number > 1:
            raise KeyboardInterrupt
        if self._task is None:
            return
        self._task.cancel()
        # The loop may wait in select().
        self._task.get_loop().call_soon_threadsafe(lambda: None)

    async def watch(self, main: Coroutine[Any, Any, T]) -> T:
        self._task = asyncio.current_task()
        try:
            if self.number:
                main.close()
                raise asyncio.CancelledError
            return await main
        finally:
            self._task = None
