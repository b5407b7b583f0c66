"""MCP server inside of the sandbox, over stdio: JSON-RPC 2.0, one message per line; standard library only.

A request file is written as soon as a call is read, so that calls reach the host in their order. Threads wait for the
answers, so that other messages are served meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from ...clock import SystemClock
from ...version import __version__
from .agent_tools import LIST_TASKS, BadArguments, Tool, render_answer, render_refusal, render_tasks, tools_for
from .request_files import ANSWER_SECONDS, Cancelled, NoAnswer, NoHost, RequestFiles, WrittenRequest

IPC_FOLDER: Final = "/workspace/ipc"
PROTOCOL_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MAX_CALLS: Final = 32
"""Calls that wait for the host at the same time."""
_MAX_LINE_BYTES: Final = 4 * 1024 * 1024
_CLOSE_SECONDS: Final = 5.0
_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602
_INSTRUCTIONS: Final = (
    "Tools of the scheduler that runs you: messages to the chat, and tasks that prompt you later. Times are local times "
    "of the group."
)


class RpcError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class McpToolServer:
    """Serves one client until its end of input."""

    def __init__(self, files: RequestFiles, output: BinaryIO, *, is_main: bool) -> None:
        self._files = files
        self._output = output
        self._tools = tools_for(is_main=is_main)
        self._lock = threading.Lock()
        self._calls: dict[str | int, threading.Event] = {}
        self._threads: set[threading.Thread] = set()
        self._changed = 0
        """Time of the snapshot before the last change: a newer one shows it."""

    def serve(self, source: BinaryIO) -> None:
        while line := source.readline(_MAX_LINE_BYTES + 1):
            if len(line) > _MAX_LINE_BYTES:
                self._write_error(None, _INVALID_REQUEST, "the message is too long")
                while line and not line.endswith(b"\n"):
                    line = source.readline(_MAX_LINE_BYTES)
            elif line.strip():
                self._handle(line)
        self.close()

    def close(self) -> None:
        """Withdraw the requests that the host has not claimed, and end the threads that wait."""
        with self._lock:
            waiting, threads = tuple(self._calls.values()), tuple(self._threads)
        for cancelled in waiting:
            cancelled.set()
        for thread in threads:
            thread.join(_CLOSE_SECONDS)

    def _handle(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._write_error(None, _PARSE_ERROR, "the message is not JSON")
            return
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self._write_error(None, _INVALID_REQUEST, "a JSON-RPC 2.0 object is expected")
            return
        if "method" not in message:
            return  # an answer; this server asks nothing
        number, method, params = message.get("id"), message["method"], message.get("params")
        fields: Mapping[str, Any] = params if isinstance(params, dict) else {}
        if "id" not in message:
            if method == "notifications/cancelled":
                self._cancel(fields.get("requestId"))
            return
        if isinstance(number, bool) or not isinstance(number, str | int):
            self._write_error(None, _INVALID_REQUEST, "the id must be a text or a whole number")
            return
        try:
            result = self._call_method(number, method, fields)
        except RpcError as error:
            self._write_error(number, error.code, str(error))
            return
        if result is not None:
            self._write({"id": number, "result": result})

    def _call_method(self, number: str | int, method: object, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the result of a method; None if a thread writes it later."""
        match method:
            case "initialize":
                wanted = params.get("protocolVersion")
                return {
                    "protocolVersion": wanted if wanted in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0],
                    "capabilities": {"tools": {"listChanged": False}},
                    "serverInfo": {"name": "horae", "version": __version__},
                    "instructions": _INSTRUCTIONS,
                }
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [tool.to_json() for tool in self._tools.values()]}
            case "tools/call":
                return self._call_tool(number, params)
        raise RpcError(_METHOD_NOT_FOUND, f"there is no method {str(method)[:80]!r}")

    def _call_tool(self, number: str | int, params: Mapping[str, Any]) -> dict[str, Any] | None:
        name = params.get("name")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise RpcError(_INVALID_PARAMS, f"there is no tool {str(name)[:80]!r}: use {', '.join(self._tools)}")
        with self._lock:
            if number in self._calls:
                raise RpcError(_INVALID_REQUEST, f"the id {number!r} is in use")
            if len(self._calls) >= MAX_CALLS:
                return _tool_error(f"{MAX_CALLS} calls wait for the host: wait for their answers first.")
        try:
            arguments = tool.check(params.get("arguments") or {})
            if tool.name == LIST_TASKS:
                self._start(self._list_tasks, number)
                return None
            before = self._files.snapshot_time()
            request = self._files.write(tool.box, tool.request(arguments))
        except BadArguments as error:
            return _tool_error(str(error))
        except (NoHost, OSError) as error:
            return _tool_error(f"The request could not be written: {error}.")
        cancelled = threading.Event()
        with self._lock:
            self._calls[number] = cancelled
        self._start(self._wait, number, tool, request, cancelled, before)
        return None

    def _start(self, work: Callable[..., None], *arguments: Any) -> None:
        def run() -> None:
            try:
                work(*arguments)
            finally:
                with self._lock:
                    self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=run, daemon=True)
        with self._lock:
            self._threads.add(thread)
        thread.start()

    def _wait(
        self, number: str | int, tool: Tool, request: WrittenRequest, cancelled: threading.Event, before: int
    ) -> None:
        try:
            answer = self._files.wait(request, cancelled)
            if answer.get("status") == "accepted":
                result = _tool_text(render_answer(tool, answer))
                if "task" in answer and isinstance(answer["task"], dict):
                    self._changed = before + 1
            else:
                result = _tool_error(render_refusal(answer))
        except Cancelled:
            return
        except NoAnswer as error:
            result = _tool_error(
                f"The host has not answered within {error}. The request {request.path.name} may still be carried out: look "
                "with list_tasks before you repeat it."
            )
        except OSError as error:
            result = _tool_error(f"The answer could not be read: {error}.")
        finally:
            with self._lock:
                self._calls.pop(number, None)
        self._write({"id": number, "result": result})

    def _list_tasks(self, number: str | int) -> None:
        self._write({"id": number, "result": _tool_text(render_tasks(self._files.read_tasks(self._changed)))})

    def _cancel(self, number: object) -> None:
        with self._lock:
            cancelled = self._calls.get(number) if isinstance(number, str | int) else None
        if cancelled is not None:
            cancelled.set()

    def _write_error(self, number: str | int | None, code: int, message: str) -> None:
        self._write({"id": number, "error": {"code": code, "message": message}})

    def _write(self, message: Mapping[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self._lock:
            self._output.write(data)
            self._output.flush()


def _tool_text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": False}


def _tool_error(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="horae-agent mcp",
        description="Serves the tools of an agent over stdio: messages to the chat, and scheduled tasks.",
    )
    parser.add_argument("--ipc", type=Path, default=Path(IPC_FOLDER), help=f"directory of requests ({IPC_FOLDER})")
    parser.add_argument("--answer-timeout", type=float, default=ANSWER_SECONDS, metavar="SECONDS", help="(30)")
    is_main = _first_variable("HORAE_IS_MAIN", "NANOCLAW_IS_MAIN") in ("1", "true")
    parser.add_argument("--main", action="store_true", default=is_main, help="offer the tools of the main group")
    options = parser.parse_args(arguments)
    files = RequestFiles(options.ipc, SystemClock(), options.answer_timeout)
    McpToolServer(files, sys.stdout.buffer, is_main=options.main).serve(sys.stdin.buffer)
    return 0


def _first_variable(*names: str) -> str:
    return next((os.environ[name] for name in names if name in os.environ), "")


if __name__ == "__main__":
    sys.exit(main())
