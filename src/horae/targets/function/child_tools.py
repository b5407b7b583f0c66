"""Tools of a function in a child process: each call is a line to the node, which answers with the value or the refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from itertools import count
from typing import Any

from ... import errors
from ...errors import HoraeError, Refusal, Sentence
from ...model.message_refusals import refuse
from ...model.messages import MessagePage
from .arguments.build import converter_for
from .arguments.encode import to_jsonable
from .wire import MAX_LINE_BYTES, encode_message


class NodeCalls:
    """Sends calls to the node and completes them when their answers arrive. Thread-safe."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._numbers = count(1)
        self._pending: dict[int, Future[Any]] = {}

    def start(self, tool: str, method: str, values: tuple[Any, ...], named: Mapping[str, Any]) -> Future[Any]:
        number = next(self._numbers)
        message = {"call": number, "tool": tool, "method": method, "values": list(values), "named": dict(named)}
        line = encode_message(to_jsonable(message))
        if len(line) >= MAX_LINE_BYTES:
            raise refuse("tool_call_too_large", name=f"{tool}.{method}", size=len(line), most=MAX_LINE_BYTES)
        future: Future[Any] = Future()
        self._pending[number] = future
        self._send(line)
        return future

    def finish(self, answer: Mapping[str, Any]) -> None:
        future = self._pending.pop(answer["answer"], None)
        if future is None or not future.set_running_or_notify_cancel():
            return
        if "refusal" in answer:
            future.set_exception(_read_refusal(answer["refusal"]))
        elif "error" in answer:
            future.set_exception(HoraeError(answer["error"]))
        else:
            future.set_result(answer.get("value"))


def _read_refusal(body: Mapping[str, Any]) -> Refusal:
    kind = getattr(errors, body["kind"], Refusal)
    return kind(body["code"], {language: Sentence(*each) for language, each in body["sentences"].items()})


class ChildTool:
    """A tool whose methods are coroutines."""

    def __init__(self, name: str, calls: NodeCalls) -> None:
        self._name = name
        self._calls = calls

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)

        async def call(*values: Any, **named: Any) -> Any:
            return await asyncio.wrap_future(self._calls.start(self._name, method, values, named))

        return call


class ChildMessages(ChildTool):
    """The streams of the run's owner: `read` and `commit` are coroutines, `send` and `acknowledge` are not."""

    def __init__(self, calls: NodeCalls) -> None:
        super().__init__("messages", calls)

    async def read(self, *values: Any, **named: Any) -> MessagePage:
        page = await asyncio.wrap_future(self._calls.start("messages", "read", values, named))
        return _READ_PAGE(page)  # type: ignore[no-any-return]

    def send(self, *values: Any, **named: Any) -> None:
        self._calls.start("messages", "send", values, named).result()

    def acknowledge(self, *values: Any, **named: Any) -> None:
        self._calls.start("messages", "acknowledge", values, named).result()


_READ_PAGE = converter_for(MessagePage).read
