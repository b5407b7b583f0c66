"""The function target: looks up a registered function by name, calls it on the loop, in a thread or in a process."""

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

from ...model.limits import ERROR_CHARACTERS, to_storable
from ...model.outcome import Failed, Outcome, Succeeded
from ...model.reason import Reason
from ...ports.target import Invocation, RunService
from .arguments.binder import describe_mismatch
from .arguments.converter import Mismatch
from .context import Context, run_facts_of
from .loop_runner import LoopRunner
from .node_tools import ChildCalls, ServiceFactory, ThreadReporter
from .process import ChildProcess
from .registry import Function, Registry
from .verdict import call_for_outcome, outcome_of_error, outcome_of_value
from .wire import CallRequest, encode_request

_NO_RESULT: Final = Succeeded()
_MAX_CACHED_SPECS: Final = 4_096
_DEFAULT_GRACE: Final = timedelta(seconds=3)
_MAX_THREADS: Final = 32
_MAX_PROCESSES: Final = 8


class FunctionTarget:
    """Kind `function`; its spec is `{"name": …}`. Awaits async functions, runs others in a thread or a process.

    `threads` and `processes` bound how many run at once; further runs queue. A stopped process has `grace` to clean up.
    `make_service` returns the service that acts as the principal of a task's runs.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        threads: int = _MAX_THREADS,
        processes: int = _MAX_PROCESSES,
        grace: timedelta = _DEFAULT_GRACE,
        make_service: ServiceFactory | None = None,
    ) -> None:
        self._make_service = make_service
        self._registry = registry
        self._by_spec: dict[str, Function] = {}
        self._threads = _Pool(threads, "horae-function")
        self._processes = _Pool(processes, "horae-child")
        self._children: set[ChildProcess] = set()
        self._grace = grace.total_seconds()

    async def execute(self, invocation: Invocation) -> Outcome:
        task = invocation.task
        spec = task.target.spec
        function = self._by_spec.get(spec) or self._find(spec)
        if function is None:
            return Failed(_unknown_function(spec), reason=Reason.TARGET_UNKNOWN)
        if not function.runs_on_loop or invocation.run.alone:
            return await self._run_off_loop(function, invocation)
        try:
            if function.needs_no_arguments and task.payload == "{}" and invocation.gate_state is None:
                value = await function.call()
            else:
                value = await function.call(**self._arguments(function, invocation))
        except Mismatch as mismatch:
            return _mismatch_outcome(function, mismatch)
        except BaseException as error:  # SystemExit in a function must not end its node
            if _is_being_cancelled(error, invocation):
                raise
            return outcome_of_error(error)
        return _NO_RESULT if value is None else outcome_of_value(value)

    def leaves_the_loop(self, invocation: Invocation) -> bool:
        """Whether the run uses a thread or process, which virtual time must wait for."""
        spec = invocation.task.target.spec
        function = self._by_spec.get(spec) or self._find(spec)
        return function is not None and (invocation.run.alone or not function.runs_on_loop)

    def close(self) -> None:
        """Kill the child processes that are left and close the pools; the engine has ended its runs before."""
        for child in tuple(self._children):
            child.kill()
        self._threads.close()
        self._processes.close()

    def _find(self, spec: str) -> Function | None:
        name = _function_name(spec)
        function = None if name is None else self._registry.find(name)
        if function is not None:
            if len(self._by_spec) >= _MAX_CACHED_SPECS:
                self._by_spec.clear()
            self._by_spec[spec] = function
        return function

    async def _run_off_loop(self, function: Function, invocation: Invocation) -> Outcome:
        if invocation.run.alone or function.isolate == "process":
            return await self._run_in_process(function, invocation)
        try:
            call = partial(function.call, **self._arguments(function, invocation, asyncio.get_running_loop()))
        except Mismatch as mismatch:
            return _mismatch_outcome(function, mismatch)
        if not function.is_async:
            return await _wait_for_end(self._threads.submit(partial(call_for_outcome, call)), _do_not_stop)
        loop = LoopRunner(call)
        return await _wait_for_end(self._threads.submit(partial(call_for_outcome, loop.run)), loop.stop)

    def _service_for(self, invocation: Invocation) -> RunService | None:
        return None if self._make_service is None else self._make_service(invocation.task)

    def _arguments(
        self, function: Function, invocation: Invocation, loop: asyncio.AbstractEventLoop | None = None
    ) -> dict[str, Any]:
        """Return the arguments of a call; `loop` is the node's event loop, for a function that runs in a thread."""
        binding = function.binding
        state, payload = invocation.gate_state, invocation.task.payload
        arguments = binding.read(payload) if state is None else binding.read_for_gate(payload, state)
        if binding.context is not None:
            service = self._service_for(invocation)
            reporter = invocation if loop is None else ThreadReporter(invocation, service, loop)
            arguments[binding.context] = Context(run_facts_of(invocation), reporter, service if loop is None else None)
        return arguments

    async def _run_in_process(self, function: Function, invocation: Invocation) -> Outcome:
        if function.origin is None:
            return Failed(
                f"{function.name} cannot run in a process of its own: no other process could find it",
                died_isolated=True,
            )
        order = CallRequest(
            function.name, function.origin, list(sys.path), run_facts_of(invocation), invocation.deadline
        )
        calls = ChildCalls(invocation, self._service_for(invocation), asyncio.get_running_loop())
        child = ChildProcess(encode_request(order), invocation, self._grace, calls)
        self._children.add(child)
        try:
            work = self._processes.submit(child.run)
            invocation.on_cancel(child.stop)
            return await _wait_for_end(work, child.stop)
        finally:
            self._children.discard(child)


class _Pool:
    """Thread pool created on first use; the submitter's context variables are copied to the thread."""

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


def _do_not_stop() -> None:
    """Do nothing: a thread cannot be stopped, and keeps its slot until it ends."""


async def _wait_for_end(work: Future[Outcome], stop: Callable[[], None]) -> Outcome:
    """Wait for the thread also when cancelled: the next run of the task must not start while it works."""
    cancelled: asyncio.CancelledError | None = None
    while cancelled is None or not work.done():
        try:
            outcome = await asyncio.wrap_future(work)
        except asyncio.CancelledError as error:
            if work.cancelled():  # it had not started
                raise
            stop()
            cancelled = error
        except GeneratorExit:  # the event loop closes and can await nothing
            stop()
            raise
        else:
            if cancelled is None:
                return outcome
    raise cancelled


def _mismatch_outcome(function: Function, mismatch: Mismatch) -> Failed:
    return Failed(
        to_storable(describe_mismatch(mismatch, function.name), ERROR_CHARACTERS),
        permanent=True,
        reason=Reason.NOT_CALLED,
    )


def _is_being_cancelled(error: BaseException, invocation: Invocation) -> bool:
    """Whether the engine cancelled this run; a function that raises `CancelledError` on its own has failed."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return invocation.cancelled or (task is not None and task.cancelling() > 0)


def _function_name(spec: str) -> str | None:
    try:
        name = json.loads(spec)["name"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def _unknown_function(spec: str) -> str:
    name = _function_name(spec)
    return "the target names no function" if name is None else f"there is no function {name!r} on this node"
