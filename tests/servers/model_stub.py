"""Model endpoint on the loopback or a unix socket: OpenAI chat completions and Anthropic messages with scripted answers.

It checks what the real endpoints check: the key, the version header, the roles, and that each tool call is answered.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeAlias

from aiohttp import web

from tests.servers.ports import HOST, ReservedPort

MODEL: Final = "stub-1"
INPUT_TOKENS: Final = 100
OUTPUT_TOKENS: Final = 20


class Say(NamedTuple):
    """Answer with a text; the turn of the model ends."""

    text: str
    reason: str = "stop"


class Call(NamedTuple):
    """Call a tool, with arguments as an object or as the text that the model wrote."""

    name: str
    arguments: Mapping[str, Any] | str


class Calls(NamedTuple):
    calls: Sequence[Call]
    text: str = ""


class Fail(NamedTuple):
    """Answer with a status and an error message, or with a body as it is."""

    status: int
    message: str = ""
    code: str = ""
    headers: Mapping[str, str] = {}
    body: bytes | None = None


class Hang(NamedTuple):
    """Answer only when the client has gone."""


class Cut(NamedTuple):
    """End the connection without an answer."""


class Torn(NamedTuple):
    """End the connection in the middle of a streamed message; of the Anthropic kind only."""


Reply: TypeAlias = Say | Call | Calls | Fail | Hang | Cut | Torn


_IDLE: Final = Say("nothing more to say")


class Received(NamedTuple):
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class ModelStub:
    """The answers of `script` are used in turn; without one left, the answer is `idle`.

    Requests of the Anthropic kind without tools are those that a client makes for itself, such as a title of the session:
    they get the answer `side` and use no answer of the script.
    """

    key: str | None = None
    script: deque[Reply] = field(default_factory=deque)
    idle: Reply = _IDLE
    side: str = "side answer"
    received: list[Received] = field(default_factory=list)
    side_received: list[Received] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    socket: Path | None = None
    _port: ReservedPort | None = None
    _runner: web.AppRunner | None = None
    _number: int = 0

    @property
    def url(self) -> str:
        assert self._port is not None
        return f"http://{HOST}:{self._port.number}"

    def plan(self, *replies: Reply) -> Self:
        self.script.extend(replies)
        return self

    async def start(self) -> Self:
        application = web.Application(client_max_size=64 * 1024 * 1024)
        application.add_routes(
            [
                web.post("/v1/chat/completions", self._completions),
                web.post("/v1/messages", self._messages),
                web.post("/v1/messages/count_tokens", self._count_tokens),
                web.get("/v1/models", self._models),
            ]
        )
        self._runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.01, access_log=None)
        await self._runner.setup()
        if self.socket is not None:
            await web.UnixSite(self._runner, str(self.socket)).start()
            self.socket.chmod(0o666)
        else:
            self._port = ReservedPort()
            await web.TCPSite(self._runner, HOST, self._port.number, reuse_address=True).start()
        return self

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        if self._port is not None:
            self._port.release()

    def _next(self) -> Reply:
        return self.script.popleft() if self.script else self.idle

    def _identity(self) -> str:
        self._number += 1
        return f"stub_{self._number}"

    # --- OpenAI ----------------------------------------------------------------------------------------------------

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request)
        self.received.append(Received(request.path_qs, _headers(request), body))
        self.arrived.set()
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return _openai_error(401, "Incorrect API key provided", "invalid_api_key")
        problem = _completion_problem(body)
        if problem:
            return _openai_error(400, problem, "invalid_request")
        match self._next():
            case Say(text, reason):
                return self._completion(body, {"role": "assistant", "content": text}, reason)
            case Call() as call:
                return self._completion(body, self._tool_message([call], ""), "tool_calls")
            case Calls(calls, text):
                return self._completion(body, self._tool_message(calls, text), "tool_calls")
            case Fail() as failure:
                if failure.body is not None:
                    return web.Response(status=failure.status, body=failure.body, headers=failure.headers)
                return _openai_error(failure.status, failure.message, failure.code, failure.headers)
            case other:
                return await _disturb(request, other)

    def _tool_message(self, calls: Sequence[Call], text: str) -> Mapping[str, Any]:
        return {
            "role": "assistant",
            "content": text or None,
            "tool_calls": [
                {
                    "id": self._identity(),
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments),
                    },
                }
                for call in calls
            ],
        }

    def _completion(self, body: Any, message: Mapping[str, Any], reason: str) -> web.Response:
        return web.json_response(
            {
                "id": self._identity(),
                "object": "chat.completion",
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": 120},
            }
        )

    # --- Anthropic -------------------------------------------------------------------------------------------------

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request)
        received = Received(request.path_qs, _headers(request), body)
        is_side = isinstance(body, dict) and not body.get("tools")
        (self.side_received if is_side else self.received).append(received)
        if self.key is not None and self.key not in {
            request.headers.get("x-api-key"),
            request.headers.get("Authorization", "").removeprefix("Bearer "),
        }:
            return _anthropic_error(401, "authentication_error", "invalid x-api-key")
        problem = _message_problem(request, body)
        if problem:
            return _anthropic_error(400, "invalid_request_error", problem)
        match Say(self.side) if is_side else self._next():
            case Say(text, reason):
                stop = "end_turn" if reason == "stop" else reason
                return await self._message(request, body, [{"type": "text", "text": text}], stop)
            case Call() as call:
                return await self._message(request, body, self._tool_uses([call], ""), "tool_use")
            case Calls(calls, text):
                return await self._message(request, body, self._tool_uses(calls, text), "tool_use")
            case Torn():
                return await self._message(request, body, [{"type": "text", "text": "never whole"}], "torn")
            case Fail() as failure:
                if failure.body is not None:
                    return web.Response(status=failure.status, body=failure.body, headers=failure.headers)
                return _anthropic_error(failure.status, failure.code, failure.message, failure.headers)
            case other:
                return await _disturb(request, other)

    def _tool_uses(self, calls: Sequence[Call], text: str) -> list[dict[str, Any]]:
        uses = [
            {"type": "tool_use", "id": f"toolu_{self._identity()}", "name": call.name, "input": call.arguments}
            for call in calls
        ]
        return [{"type": "text", "text": text}, *uses] if text else uses

    async def _message(
        self, request: web.Request, body: Any, blocks: Sequence[Mapping[str, Any]], stop: str
    ) -> web.StreamResponse:
        message = {
            "id": f"msg_{self._identity()}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": list(blocks),
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
        }
        if not body.get("stream"):
            return web.json_response(message)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        for event in _events(message, blocks):
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            await response.write(data.encode())
            if stop == "torn":
                return await _disturb(request, Cut())
        await response.write_eof()
        return response

    async def _count_tokens(self, request: web.Request) -> web.Response:
        await _body(request)
        return web.json_response({"input_tokens": INPUT_TOKENS})

    async def _models(self, request: web.Request) -> web.Response:
        headers = request.headers
        keys = {headers.get("x-api-key"), headers.get("Authorization", "").removeprefix("Bearer ")}
        if self.key is not None and self.key not in keys:
            return _openai_error(401, "Incorrect API key provided", "invalid_api_key")
        if "x-api-key" in headers and "anthropic-version" not in headers:
            return _anthropic_error(400, "invalid_request_error", "anthropic-version: header is required")
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})


@asynccontextmanager
async def running_stub(*script: Reply, key: str | None = None, socket: Path | None = None) -> AsyncIterator[ModelStub]:
    stub = await ModelStub(key=key, socket=socket).plan(*script).start()
    try:
        yield stub
    finally:
        await stub.close()


def _events(message: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The message as a stream: its parts are sent as deltas."""
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": 1}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}}
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            begin: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            begin = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": begin}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": OUTPUT_TOKENS}}
    yield {"type": "message_stop"}


async def _disturb(request: web.Request, reply: Reply) -> web.StreamResponse:
    if isinstance(reply, Hang):
        await asyncio.Event().wait()
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def _body(request: web.Request) -> Any:
    try:
        return json.loads(await request.read())
    except ValueError:
        return None


def _headers(request: web.Request) -> Mapping[str, str]:
    return {name.lower(): value for name, value in request.headers.items()}


def _completion_problem(body: Any) -> str:
    """The reason why OpenAI would refuse the request, or nothing."""
    if not isinstance(body, dict) or not body.get("model") or not body.get("messages"):
        return "model and messages are required"
    waiting: set[str] = set()
    for message in body["messages"]:
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            return f"tool_call_ids did not have response messages: {sorted(waiting)}"
        if role not in {"system", "user", "assistant"}:
            return f"invalid role {role!r}"
        if message.get("content") is None and not message.get("tool_calls"):
            return "content is required"
        waiting = {call["id"] for call in message.get("tool_calls") or ()}
    return f"tool_call_ids did not have response messages: {sorted(waiting)}" if waiting else ""


def _message_problem(request: web.Request, body: Any) -> str:
    if "anthropic-version" not in request.headers:
        return "anthropic-version: header is required"
    if not isinstance(body, dict) or not body.get("model") or not body.get("messages"):
        return "model and messages are required"
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: field required"
    return ""


def _openai_error(status: int, message: str, code: str, headers: Mapping[str, str] | None = None) -> web.Response:
    body = {"error": {"message": message, "type": "error", "param": None, "code": code or None}}
    return web.json_response(body, status=status, headers=headers)


def _anthropic_error(status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    body = {"type": "error", "error": {"type": kind or "api_error", "message": message}}
    return web.json_response(body, status=status, headers=headers)
