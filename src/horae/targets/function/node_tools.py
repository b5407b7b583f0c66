"""Tools of a function that does not run on the node's event loop: its calls are made on that loop, from a thread or for a child."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from datetime import datetime
from inspect import iscoroutinefunction
from typing import Any, Final, NamedTuple, cast

from ...errors import HoraeError, Refusal
from ...model.lanes.idle import YieldReason
from ...model.limits import ERROR_CHARACTERS, to_storable
from ...model.message_refusals import refuse
from ...model.task import Task
from ...ports.target import Invocation, RunMessages, RunRecords, RunService
from .arguments.encode import dump_compact, to_jsonable

ServiceFactory = Callable[[Task], RunService]
"""Returns the service that acts as the principal of a task's runs."""

METHODS: Final[Mapping[str, frozenset[str]]] = {
    "messages": frozenset({"read", "send", "acknowledge", "commit"}),
    "records": frozenset({"get", "put", "delete"}),
    "service": frozenset({"schedule", "task", "runs", "run_now", "pause", "resume", "cancel", "delete"}),
}
"""Methods that a child process may call, by tool."""
_POLL_SECONDS: Final = 1.0


class LoopProxy:
    """Tool whose coroutine methods run on the node's event loop, and are awaited on another one."""

    def __init__(self, inner: object, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._inner, name)
        if not iscoroutinefunction(member):
            return member

        async def call(*values: Any, **named: Any) -> Any:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(member(*values, **named), self._loop))

        return call


class ThreadReporter:
    """The run, as a function in a thread sees it."""

    def __init__(self, invocation: Invocation, service: RunService | None, loop: asyncio.AbstractEventLoop) -> None:
        self._invocation = invocation
        self._service = service
        self._loop = loop

    @property
    def deadline(self) -> datetime:
        return self._invocation.deadline

    @property
    def cancelled(self) -> bool:
        return self._invocation.cancelled

    @property
    def yield_requested(self) -> bool:
        return self._invocation.yield_requested

    @property
    def yield_reason(self) -> YieldReason | None:
        return self._invocation.yield_reason

    def log(self, text: str, level: str = "info") -> None:
        self._invocation.log(text, level)

    def progress(self, done: float, text: str = "") -> None:
        self._invocation.progress(done, text)

    def heartbeat(self) -> None:
        self._invocation.heartbeat()

    def idle(self, idle: bool = True) -> None:  # noqa: FBT001, FBT002 - the argument is the state
        self._invocation.idle(idle)

    @property
    def messages(self) -> RunMessages:
        return cast("RunMessages", LoopProxy(self._invocation.messages, self._loop))

    @property
    def records(self) -> RunRecords:
        return cast("RunRecords", LoopProxy(self._invocation.records, self._loop))

    @property
    def service(self) -> RunService | None:
        return None if self._service is None else cast("RunService", LoopProxy(self._service, self._loop))


class ToolCall(NamedTuple):
    """One call of a child process: the method of a tool with its values as JSON."""

    number: int
    tool: str
    method: str
    values: Sequence[Any]
    named: Mapping[str, Any]


class ChildCalls:
    """Answers the calls of one child process, one after the other, on the node's event loop."""

    def __init__(self, invocation: Invocation, service: RunService | None, loop: asyncio.AbstractEventLoop) -> None:
        self._invocation = invocation
        self._service = service
        self._loop = loop

    def answer(self, call: ToolCall, is_gone: Callable[[], bool]) -> bytes | None:
        """Make the call and return the answer as a line; None if the child is gone. Blocks its thread."""
        work = asyncio.run_coroutine_threadsafe(self._execute(call), self._loop)
        while True:
            try:
                return work.result(_POLL_SECONDS)
            except TimeoutError:
                if not work.done() and is_gone():
                    work.cancel()
                    return None
            except CancelledError:  # the event loop closes
                return None

    async def _execute(self, call: ToolCall) -> bytes:
        body = await self._call(call)
        return dump_compact({"answer": call.number, **body}).encode() + b"\n"

    async def _call(self, call: ToolCall) -> dict[str, Any]:
        if call.method not in METHODS.get(call.tool, ()):
            return {"error": f"there is no {call.tool}.{call.method} in a process of its own"}
        try:
            tool = self._service if call.tool == "service" else getattr(self._invocation, call.tool)
            if tool is None:
                raise refuse("no_run_tools", name=call.tool)
            value = getattr(tool, call.method)(*call.values, **call.named)
            return {"value": to_jsonable(await value if asyncio.iscoroutine(value) else value)}
        except Refusal as refusal:
            return {"refusal": _refusal_json(refusal)}
        except (HoraeError, TypeError, ValueError, LookupError) as error:
            return {"error": to_storable(f"{type(error).__name__}: {error}", ERROR_CHARACTERS)}


def _refusal_json(refusal: Refusal) -> dict[str, Any]:
    sentences = {language: list(sentence) for language, sentence in refusal.sentences.items()}
    return {"kind": type(refusal).__name__, "code": refusal.code, "sentences": sentences}
