"""The function target: a name in a task leads to a Python function in this node, and what becomes of it is an outcome."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from datetime import timedelta
from functools import partial
from typing import Any, Final

from ...model.limits import ERROR_CHARACTERS
from ...model.outcome import Failed, Outcome, Succeeded
from ...model.reason import Reason
from ...ports.target import Invocation
from .arguments.binding import told
from .arguments.converter import Mismatch
from .context import Context, occasion_of
from .loop_thread import OwnLoop
from .process import Child
from .registry import Function, Registry
from .storable_text import kept
from .verdict import outcome_of, raised, returned
from .wire import Order, write_order

_QUIET: Final = Succeeded()
_MOST_SPECS: Final = 4_096
_GRACE: Final = timedelta(seconds=3)
_THREADS: Final = 32
_PROCESSES: Final = 8


class FunctionTarget:
    """Kind `function`; its spec is `{"name": …}`. Async functions are awaited here, others get a thread or a process.

    `threads` and `processes` bound how many go on at once; the rest waits for its turn. A process that is to end has
    `grace` to clean up.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        threads: int = _THREADS,
        processes: int = _PROCESSES,
        grace: timedelta = _GRACE,
    ) -> None:
        self._registry = registry
        self._known: dict[str, Function] = {}
        self._threads = _Pool(threads, "horae-function")
        self._processes = _Pool(processes, "horae-child")
        self._children: set[Child] = set()
        self._grace = grace.total_seconds()

    async def execute(self, invocation: Invocation) -> Outcome:
        task = invocation.task
        spec = task.target.spec
        function = self._known.get(spec) or self._find(spec)
        if function is None:
            return Failed(_unknown(spec), reason=Reason.TARGET_UNKNOWN)
        if not function.in_loop or invocation.run.alone:
            return await self._elsewhere(function, invocation)
        try:
            if function.plain and task.payload == "{}":
                value = await function.call()
            else:
                value = await function.call(**_arguments(function, invocation))
        except Mismatch as mismatch:
            return _misfit(function, mismatch)
        except BaseException as error:  # SystemExit in a function must not end its node
            if _is_being_cancelled(error, invocation):
                raise
            return raised(error)
        return _QUIET if value is None else returned(value)

    def leaves_the_loop(self, invocation: Invocation) -> bool:
        """Whether it runs in a thread or process: virtual time must wait for those."""
        spec = invocation.task.target.spec
        function = self._known.get(spec) or self._find(spec)
        return function is not None and (invocation.run.alone or not function.in_loop)

    def close(self) -> None:
        """Whoever carries runs has ended them before; child processes that are left do not survive this."""
        for child in tuple(self._children):
            child.kill()
        self._threads.close()
        self._processes.close()

    def _find(self, spec: str) -> Function | None:
        name = _name_in(spec)
        function = None if name is None else self._registry.find(name)
        if function is not None:
            if len(self._known) >= _MOST_SPECS:
                self._known.clear()
            self._known[spec] = function
        return function

    async def _elsewhere(self, function: Function, invocation: Invocation) -> Outcome:
        if invocation.run.alone or function.isolate == "process":
            return await self._apart(function, invocation)
        try:
            call = partial(function.call, **_arguments(function, invocation))
        except Mismatch as mismatch:
            return _misfit(function, mismatch)
        if not function.is_async:
            return await _until_over(self._threads.submit(partial(outcome_of, call)), _nothing_to_stop)
        own = OwnLoop(call)
        return await _until_over(self._threads.submit(partial(outcome_of, own.run)), own.stop)

    async def _apart(self, function: Function, invocation: Invocation) -> Outcome:
        if function.origin is None:
            return Failed(
                f"{function.name} cannot run in a process of its own: no other process could find it", died_alone=True
            )
        order = Order(function.name, function.origin, list(sys.path), occasion_of(invocation), invocation.deadline)
        child = Child(write_order(order), invocation, self._grace)
        self._children.add(child)
        try:
            work = self._processes.submit(child.carry)
            invocation.on_cancel(child.stop)
            return await _until_over(work, child.stop)
        finally:
            self._children.discard(child)


class _Pool:
    """Threads that are made when the first one is needed. Context variables go along."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._executor: ThreadPoolExecutor | None = None

    def submit(self, work: Callable[[], Outcome]) -> Future[Outcome]:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._size, self._name)
        return self._executor.submit(copy_context().run, work)

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)


def _nothing_to_stop() -> None:
    """A thread cannot be stopped: it keeps its slot until it ends."""


async def _until_over(work: Future[Outcome], stop: Callable[[], None]) -> Outcome:
    """A cancelled run is over only when its thread is: nobody may start the next one beside it."""
    cancelled: asyncio.CancelledError | None = None
    while cancelled is None or not work.done():
        try:
            outcome = await asyncio.wrap_future(work)
        except asyncio.CancelledError as error:
            if work.cancelled():  # it had not begun
                raise
            stop()
            cancelled = error
        except GeneratorExit:  # the loop itself goes down, and nothing can be waited for
            stop()
            raise
        else:
            if cancelled is None:
                return outcome
    raise cancelled


def _arguments(function: Function, invocation: Invocation) -> dict[str, Any]:
    binding = function.binding
    arguments = binding.read(invocation.task.payload)
    if binding.context is not None:
        arguments[binding.context] = Context(occasion_of(invocation), invocation)
    return arguments


def _misfit(function: Function, mismatch: Mismatch) -> Failed:
    return Failed(kept(told(mismatch, function.name), ERROR_CHARACTERS), permanent=True, reason=Reason.NOT_CALLED)


def _is_being_cancelled(error: BaseException, invocation: Invocation) -> bool:
    """A function may also raise this on its own, or pass it on from something that it awaited: then it has failed."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return invocation.cancelled or (task is not None and task.cancelling() > 0)


def _name_in(spec: str) -> str | None:
    try:
        name = json.loads(spec)["name"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def _unknown(spec: str) -> str:
    name = _name_in(spec)
    return "the target names no function" if name is None else f"there is no function {name!r} on this node"
