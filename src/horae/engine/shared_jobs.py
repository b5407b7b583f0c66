"""Asyncio tasks of runs: runs of functions that do not suspend share one task, because a task costs more than such a call.

Each run has a context of its own, as in a task of its own. A function shares a task once a run of it has ended without
suspending, and gets a task for each run again when one suspends: a run never waits behind one that may suspend.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .active_run import ActiveRun

_FUNCTION: Final = "function"
"""The only kind of target whose calls may end without suspending."""
_MAX_KNOWN: Final = 4_096
MAX_RUNS_PER_STEP: Final = 256
"""Number of runs after which the event loop has its turn: a full batch of settlements goes to the store while others execute."""


class SharedJobs:
    """Starts runs. `execute` runs one to its settlement. `active.job` is the task in which a run executes, or will."""

    def __init__(self, execute: Callable[[ActiveRun], Coroutine[Any, Any, None]]) -> None:
        self._execute = execute
        self._queue: deque[ActiveRun] = deque()
        self._worker: asyncio.Task[None] | None = None
        """The task that takes queued runs; it stops to do so when one of them suspends."""
        self._current: ActiveRun | None = None
        self._immediate: set[str] = set()
        """Specifications of functions whose last run did not suspend."""

    def start(self, active: ActiveRun) -> None:
        target = active.task.target
        if target.kind != _FUNCTION or target.spec not in self._immediate:
            work = self._execute_alone(active) if target.kind == _FUNCTION else self._execute(active)
            active.job = asyncio.get_running_loop().create_task(work)
            return
        self._queue.append(active)
        if self._worker is None:
            self._begin()
        active.job = self._worker

    async def _execute_alone(self, active: ActiveRun) -> None:
        """Execute a run in its own task, and note whether it ended in the first step of that task."""
        suspended: list[None] = []
        asyncio.get_running_loop().call_soon(suspended.append, None)
        await self._execute(active)
        if not suspended:
            if len(self._immediate) >= _MAX_KNOWN:
                self._immediate.clear()
            self._immediate.add(active.task.target.spec)

    def _begin(self) -> None:
        self._worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        worker = asyncio.current_task()
        # Called when this step of the task is over: a run has suspended, or all have ended.
        asyncio.get_running_loop().call_soon(self._detach, worker)
        left = MAX_RUNS_PER_STEP
        try:
            while left and self._queue and self._worker is worker and worker is not None and not worker.cancelling():
                left -= 1
                active = self._current = self._queue.popleft()
                active.job = worker
                coroutine, context = self._execute(active), copy_context()
                try:
                    future = context.run(coroutine.send, None)
                except StopIteration:
                    continue
                await _Continuation(coroutine, context, future)
        finally:
            if self._worker is worker:
                self._worker = self._current = None
                if self._queue and not left:
                    self._begin()
                elif self._queue:
                    # A run has raised, or has cancelled its task.
                    self._restart()

    def _detach(self, worker: asyncio.Task[Any] | None) -> None:
        """Leave the worker to the run that has suspended, and start the others elsewhere."""
        if self._worker is not worker:
            return
        self._worker, active, self._current = None, self._current, None
        if active is not None:
            self._immediate.discard(active.task.target.spec)
        self._restart()

    def _restart(self) -> None:
        waiting, self._queue = self._queue, deque()
        for each in waiting:
            self.start(each)


class _Continuation:
    """Awaits the rest of a coroutine that has suspended, each step in its own context."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], context: Context, future: Any) -> None:
        self._coroutine = coroutine
        self._context = context
        self._future = future

    def __await__(self) -> Generator[Any, Any, None]:
        coroutine, run, future = self._coroutine, self._context.run, self._future
        resume: Callable[[Any], Any]
        argument: Any
        while True:
            try:
                value = yield future
            except GeneratorExit:
                run(coroutine.close)
                raise
            except BaseException as error:  # noqa: BLE001 - a cancellation, or what the future raised
                resume, argument = coroutine.throw, error
            else:
                resume, argument = coroutine.send, value
            try:
                future = run(resume, argument)
            except StopIteration:
                return
