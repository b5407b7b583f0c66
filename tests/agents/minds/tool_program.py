"""MCP server for tests, standard library only: `add` adds two numbers; it misbehaves as its argument says."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

BEHAVIOUR = sys.argv[1] if len(sys.argv) > 1 else "good"


def tool(name: str) -> dict[str, Any]:
    properties = {"a": {"type": "number"}, "b": {"type": "number"}}
    return {
        "name": name,
        "description": f"{name} two numbers",
        "inputSchema": {"type": "object", "properties": properties},
    }


def answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "t", "version": "1"},
            }
        case "tools/list" if message["params"].get("cursor") is None:
            return {"tools": [tool("add")], "nextCursor": "2"}
        case "tools/list":
            return {"tools": [tool("environment"), tool("memory")]}
        case _ if message["params"]["name"] == "environment":
            return {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]}
        case _ if message["params"]["name"] == "memory":
            return {"content": [{"type": "text", "text": read_memory(os.getppid())}]}
        case _:
            arguments = message["params"]["arguments"]
            if BEHAVIOUR == "die":
                sys.exit(1)
            if BEHAVIOUR == "long":
                return {"content": [{"type": "text", "text": "x" * 200_000}, {"type": "image", "data": ""}]}
            if "a" not in arguments:
                return {"content": [{"type": "text", "text": "a is missing"}], "isError": True}
            return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}


def read_memory(process: int) -> str:
    """Return whether the first mapped page of a process can be read."""
    try:
        with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb") as memory:  # noqa: PTH123
            memory.seek(int(maps.readline().partition("-")[0], 16))
            return f"read {len(memory.read(10))} bytes"
    except OSError as error:
        return f"refused: {error.strerror}"


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    received = json.loads(line)
    if "method" not in received or "id" not in received:
        continue
    sys.stdout.write("a line that is no message\n")
    send({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
    send({"id": "p", "method": "ping"})
    send({"id": "s", "method": "sampling/createMessage", "params": {}})
    if BEHAVIOUR == "silent" and received["method"] == "tools/call":
        continue
    if BEHAVIOUR == "refuse":
        send({"id": received["id"], "error": {"code": -32000, "message": "not today"}})
    else:
        send({"id": received["id"], "result": answer(received)})
