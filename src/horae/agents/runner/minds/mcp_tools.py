"""Tools that a model may call, and the client of the MCP servers that offer them, over stdio; standard library only."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple, Protocol

from ...protocol import write_tool_call
from .mind import MindFailed


class Tool(NamedTuple):
    """`schema` is the JSON Schema of the arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


class ToolAnswer(NamedTuple):
    text: str
    is_error: bool = False


class Tools(Protocol):
    @property
    def tools(self) -> Sequence[Tool]: ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool; a failure is an answer too, so that the model can react to it."""


def report_tool_call(name: str, arguments: Mapping[str, Any]) -> None:
    """Write the call to stderr: the host shows it in the transcript of the run."""
    sys.stderr.write(write_tool_call(name, arguments) + "\n")
    sys.stderr.flush()


PROTOCOL_VERSION: Final = "2025-06-18"
MAX_TOOLS: Final = 128
MAX_ANSWER_CHARACTERS: Final = 50_000
_MAX_LINE_BYTES: Final = 4 * 1024 * 1024
_MAX_PAGES: Final = 20
_START_SECONDS: Final = 30.0
_CALL_SECONDS: Final = 120.0
_METHOD_NOT_FOUND: Final = -32601


class McpServer(NamedTuple):
    """How to start a server. `environment` is added to that of the runner; there are no secrets in it."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str]


class _ServerError(Exception):
    pass


class McpTools:
    """Tools of one started server. A server that has ended answers each call with an error."""

    def __init__(self, server: McpServer, process: Process, call_seconds: float) -> None:
        self._server = server
        self._process = process
        self._call_seconds = call_seconds
        self._number = 0
        self.tools: Sequence[Tool] = ()

    async def initialize(self) -> None:
        client = {"name": "horae-agent", "version": "1"}
        await self._request(
            "initialize", {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
        )
        await self._write({"method": "notifications/initialized"})
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await self._request("tools/list", {} if cursor is None else {"cursor": cursor})
            listed = page.get("tools")
            found += [_read_tool(each) for each in (listed if isinstance(listed, list) else [])]
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor:
                break
        self.tools = tuple(found[:MAX_TOOLS])

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        try:
            async with asyncio.timeout(self._call_seconds):
                result = await self._request("tools/call", {"name": name, "arguments": dict(arguments)})
        except TimeoutError:
            return ToolAnswer(f"the tool {name} has not answered within {self._call_seconds:g} s", is_error=True)
        except (_ServerError, OSError) as error:
            return ToolAnswer(f"the tool {name} failed: {error}", is_error=True)
        return ToolAnswer(_content_text(result.get("content")), is_error=result.get("isError") is True)

    async def _request(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a request and wait for its response; requests of the server and late responses are passed over."""
        self._number += 1
        number = self._number
        await self._write({"id": number, "method": method, "params": params})
        while True:
            message = await self._read()
            if "method" in message:
                await self._refuse_request(message)
            elif message.get("id") == number:
                error = message.get("error")
                if isinstance(error, dict):
                    raise _ServerError(str(error.get("message") or error.get("code"))[:1000])
                result = message.get("result")
                return result if isinstance(result, dict) else {}

    async def _refuse_request(self, message: Mapping[str, Any]) -> None:
        if "id" not in message:
            return
        if message["method"] == "ping":
            await self._write({"id": message["id"], "result": {}})
        else:
            error = {"code": _METHOD_NOT_FOUND, "message": "the client has no such method"}
            await self._write({"id": message["id"], "error": error})

    async def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin  # noqa: S101 - a pipe
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await self._process.stdin.drain()

    async def _read(self) -> dict[str, Any]:
        """Return the next message; a line that is none is passed over: some programs print to stdout."""
        assert self._process.stdout  # noqa: S101 - a pipe
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:
                raise _ServerError("it has sent a line that is too long") from None
            if not line:
                raise _ServerError(f"the MCP server {self._server.name} has ended")
            with suppress(ValueError, RecursionError):
                message = json.loads(line)
                if isinstance(message, dict):
                    return message


@asynccontextmanager
async def open_mcp_tools(server: McpServer, call_seconds: float = _CALL_SECONDS) -> AsyncIterator[McpTools]:
    """Start the server; it is killed at the end. Raise `MindFailed` if it does not start."""
    try:
        process = await asyncio.create_subprocess_exec(
            *server.argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=os.environ | dict(server.environment),
            limit=_MAX_LINE_BYTES,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise MindFailed(f"the MCP server {server.name} cannot be started: {error}") from None
    try:
        tools = McpTools(server, process, call_seconds)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await tools.initialize()
        except TimeoutError:
            raise MindFailed(f"the MCP server {server.name} has not answered within {_START_SECONDS:g} s") from None
        except (_ServerError, OSError) as error:
            raise MindFailed(f"the MCP server {server.name} does not work: {error}") from None
        yield tools
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _read_tool(value: Any) -> Tool:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise _ServerError("a tool of its list has no name")
    schema = value.get("inputSchema")
    return Tool(
        value["name"],
        str(value.get("description") or ""),
        schema if isinstance(schema, dict) else {"type": "object", "properties": {}},
    )


def _content_text(content: Any) -> str:
    """Join the texts; other content is named only."""
    parts = [
        str(each.get("text", "")) if each.get("type") == "text" else f"[{each.get('type')} is not shown]"
        for each in (content if isinstance(content, list) else [])
        if isinstance(each, dict)
    ]
    text = "\n".join(parts)
    if len(text) > MAX_ANSWER_CHARACTERS:
        return text[:MAX_ANSWER_CHARACTERS] + "\n[The rest was left out: the answer is too long.]"
    return text
