"""MCP server of an agent: with the protocol's own client, message by message, and inside of bubblewrap."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

import horae
from horae.agents.requests.request_host import RequestHost
from horae.agents.runner.agent_tools import render_tasks, tools_for
from horae.agents.runner.main import main
from horae.agents.runner.mcp_server import MAX_CALLS, PROTOCOL_VERSIONS, McpToolServer
from horae.agents.runner.request_files import RequestFiles
from horae.agents.runtimes.bubblewrap import BubblewrapRuntime
from horae.agents.workspace import Workspace
from horae.clock import SystemClock
from horae.ports.runtime import Mount, RuntimeSpec
from horae.testing.factories import NOON
from tests.servers.programs import program

from .request_harness import CHATS, FAMILY, MAIN, WORK, RequestHarness

NAMES = [
    "send_message",
    "schedule_task",
    "list_tasks",
    "pause_task",
    "resume_task",
    "cancel_task",
    "update_task",
    "run_task",
    "why",
]


@asynccontextmanager
async def serving(requests: RequestHarness) -> AsyncIterator[None]:
    """The host serves the requests of all groups meanwhile."""
    host = RequestHost(requests.service, _NoonClock(), requests.workspace)
    for folder in (FAMILY, WORK, MAIN):
        for box in ("tasks", "messages", "answers"):
            requests.box(folder, box)
    running = asyncio.create_task(host.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


class _NoonClock(SystemClock):
    """Waits in real time, and shows the instant of the service."""

    def now(self) -> datetime:
        return NOON


class Tools:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> str:
        text, is_error = await self.call(tool, **arguments)
        assert not is_error, text
        return text

    async def refused(self, tool: str, **arguments: Any) -> str:
        text, is_error = await self.call(tool, **arguments)
        assert is_error, text
        return text

    async def call(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert isinstance(content, TextContent)
        return content.text, bool(result.is_error)


@asynccontextmanager
async def connect(directory: Path, *, mode: str = "auto", is_main: bool = False) -> AsyncIterator[Tools]:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "horae.agents.runner.mcp_server", "--ipc", str(directory)],
        env={"HORAE_IS_MAIN": "1" if is_main else "0", "PATH": os.environ["PATH"]},
    )
    async with Client(stdio_client(parameters), mode=mode) as client:
        yield Tools(client)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_agent_manages_its_tasks_with_the_official_client(requests: RequestHarness, mode: str) -> None:
    async with serving(requests), connect(requests.workspace.group_ipc(FAMILY), mode=mode) as tools:
        assert [each.name for each in (await tools.client.list_tools()).tools] == NAMES
        text = await tools("schedule_task", prompt="weather", schedule_type="cron", schedule_value="0 9 * * *")
        assert text.splitlines()[0] == "Task scheduled."
        assert "every day at 09:00, Asia/Shanghai" in text
        assert "Next: 2026-03-02T09:00:00.000+08:00, 2026-03-03" in text
        task = text.splitlines()[1].split()[1]
        listed = await tools("list_tasks")
        assert f"- [{task}] weather (cron: 0 9 * * *) - active, next: 2026-03-02T01:00:00.000Z" in listed
        assert (await requests.facts(task)).task.target.spec == '{"group":"family","context_mode":"group"}'
        assert (await tools("pause_task", task_id=task)).startswith("Task paused.")
        assert "paused, next: N/A" in await tools("list_tasks")
        assert (await tools("resume_task", task_id=task)).startswith("Task resumed.")
        assert "2026-03-01T21:00" in await tools("update_task", task_id=task, prompt="news", when="daily at 21:00")
        assert "Run: run_" in await tools("run_task", task_id=task)
        assert await tools("why", task_id=task)
        assert await tools("send_message", text="done", sender="Reporter") == "Message sent."
        assert await requests.texts(FAMILY) == ["done"]
        assert (await tools("cancel_task", task_id=task)).startswith("Task cancelled.")
        assert await tools("list_tasks") == "No scheduled tasks found."
        assert (await tools.refused("pause_task", task_id="other")).endswith("[no_such_task]")
        assert not list(requests.box(FAMILY, "answers").iterdir())


async def test_main_agent_acts_for_other_groups(requests: RequestHarness) -> None:
    async with serving(requests), connect(requests.workspace.group_ipc(MAIN), is_main=True) as tools:
        assert [each.name for each in (await tools.client.list_tools()).tools] == [*NAMES, "register_group"]
        await tools("schedule_task", prompt="x", when="every 1h", target_group_jid=CHATS[WORK])
        assert "x" in await tools("list_tasks")
        fields = {"jid": "telegram:-300", "name": "Sport", "folder": "sport", "trigger": "@C"}
        assert await tools("register_group", **fields) == "Group registered."
        group = await requests.service.groups.find("sport")
        assert group is not None
        assert not group.requires_trigger
    # The host decides, whatever the program inside believes.
    async with serving(requests), connect(requests.workspace.group_ipc(FAMILY), is_main=True) as tools:
        assert "[request_of_main_only]" in await tools.refused("register_group", **{**fields, "folder": "other"})
        other = {"prompt": "x", "when": "every 1h", "target_group_jid": CHATS[WORK]}
        assert "[request_foreign_chat]" in await tools.refused("schedule_task", **other)


# --- message by message ----------------------------------------------------------------------------------------------


class Peer:
    """A server in this process, and what it writes."""

    def __init__(self, directory: Path, seconds: float = 30.0) -> None:
        self.directory = directory
        for box in ("tasks", "messages", "answers"):
            (directory / box).mkdir(parents=True)
        self._read, write = os.pipe()
        self._output = open(self._read, "rb")  # noqa: PTH123, SIM115 - a descriptor, closed by `close`
        self.sink = open(write, "wb")  # noqa: PTH123, SIM115 - likewise
        self.server = _Endless(RequestFiles(directory, SystemClock(), seconds), self.sink, is_main=False)

    def send(self, *messages: Any) -> None:
        lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in messages]
        self.server.serve(io.BytesIO(b"".join(line + b"\n" for line in lines)))

    def receive(self) -> dict[str, Any]:
        return dict(json.loads(self._output.readline()))

    def ask(self, method: str, number: int = 1, **params: Any) -> dict[str, Any]:
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self.receive()

    def call(self, tool: str, number: int = 1, **arguments: Any) -> None:
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def files(self, box: str = "tasks") -> list[Path]:
        return sorted((self.directory / box).iterdir())

    def answer(self, path: Path, **document: Any) -> None:
        path.unlink()
        (self.directory / "answers" / path.name).write_text(json.dumps(document), encoding="utf-8")

    def close(self) -> None:
        super(_Endless, self.server).close()
        self.sink.close()
        self._output.close()


class _Endless(McpToolServer):
    """The messages of a test come one by one: the end of each input is not that of the client."""

    def close(self) -> None:
        pass


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    opened = Peer(tmp_path / "ipc")
    yield opened
    opened.close()


def test_version_is_negotiated(peer: Peer) -> None:
    for version in PROTOCOL_VERSIONS:
        assert peer.ask("initialize", protocolVersion=version)["result"]["protocolVersion"] == version
    answer = peer.ask("initialize", protocolVersion="1999-01-01")["result"]
    assert answer["protocolVersion"] == PROTOCOL_VERSIONS[0]
    assert answer["serverInfo"]["name"] == "horae"
    assert peer.ask("ping") == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"{", -32700),
        (b"[" * 100_000, -32700),
        ([], -32600),
        ({"id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "rm"}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}, -32602),
        (b'{"a": "' + b"x" * 5_000_000 + b'"}', -32600),
    ],
)
def test_bad_messages_are_answered_with_an_error(peer: Peer, message: Any, code: int) -> None:
    peer.send(message, {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "result": {}})
    assert peer.receive()["error"]["code"] == code
    assert peer.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("send_message", {}, "'text' of send_message is missing"),
        ("send_message", {"text": 5}, "text must be a text"),
        ("send_message", {"text": "x", "to": "y"}, "no argument 'to'"),
        ("schedule_task", {"prompt": "x"}, "schedule_type and schedule_value"),
        ("schedule_task", {"prompt": "x", "schedule_type": "cron"}, "schedule_type and schedule_value"),
        ("schedule_task", {"prompt": "x", "schedule_type": "cron", "schedule_value": "daily"}, "Invalid cron"),
        ("schedule_task", {"prompt": "x", "schedule_type": "interval", "schedule_value": "0"}, "positive"),
        ("schedule_task", {"prompt": "x", "schedule_type": "interval", "schedule_value": "-5"}, "positive"),
        (
            "schedule_task",
            {"prompt": "x", "schedule_type": "once", "schedule_value": "2026-02-01T15:30:00Z"},
            "without timezone suffix",
        ),
        ("schedule_task", {"prompt": "x", "schedule_type": "once", "schedule_value": "soon"}, "Invalid timestamp"),
        ("schedule_task", {"prompt": "x", "schedule_type": "hourly", "schedule_value": "1"}, "one of: cron"),
        ("schedule_task", {"prompt": "x", "when": "daily", "schedule_type": "cron"}, "either when"),
        ("update_task", {"task_id": "x", "schedule_type": "cron"}, "schedule_type and schedule_value"),
    ],
)
def test_bad_arguments_write_nothing(peer: Peer, tool: str, arguments: dict[str, Any], words: str) -> None:
    peer.call(tool, **arguments)
    result = peer.receive()["result"]
    assert result["isError"]
    assert words in result["content"][0]["text"]
    assert peer.files() == peer.files("messages") == []


def test_calls_are_written_in_their_order_and_answered_in_any(peer: Peer) -> None:
    texts = [f"text {number}" for number in range(20)]
    for number, text in enumerate(texts):
        peer.call("send_message", number, text=text)
    files = peer.files("messages")
    assert [json.loads(path.read_text(encoding="utf-8"))["text"] for path in files] == texts
    for number in (7, 3):
        peer.answer(files[number], status="accepted", parts=1)
        assert peer.receive()["id"] == number
    assert peer.ask("ping", 100)["id"] == 100


def test_cancelled_call_withdraws_its_request(peer: Peer) -> None:
    peer.call("pause_task", 1, task_id="x")
    peer.call("pause_task", 2, task_id="y")
    first, second = peer.files()
    peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}})
    peer.answer(second, status="refused", code="no_such_task", message="There is no task 'y'.", hint="Look.")
    answer = peer.receive()
    assert (answer["id"], answer["result"]["isError"]) == (2, True)
    assert answer["result"]["content"][0]["text"] == "There is no task 'y'. Look. [no_such_task]"
    peer.close()
    assert not first.exists()


def test_silent_host_is_reported(tmp_path: Path) -> None:
    peer = Peer(tmp_path / "ipc", 0.0)
    peer.call("pause_task", task_id="x")
    text = peer.receive()["result"]["content"][0]["text"]
    assert "has not answered within 0 s" in text
    assert "list_tasks" in text
    peer.close()


def test_too_many_waiting_calls_are_refused(peer: Peer) -> None:
    for number in range(MAX_CALLS):
        peer.call("pause_task", number, task_id="x")
    peer.call("pause_task", 0, task_id="x")
    assert peer.receive()["error"]["code"] == -32600
    peer.call("pause_task", MAX_CALLS, task_id="x")
    assert peer.receive()["result"]["isError"]
    assert len(peer.files()) == MAX_CALLS


def test_program_outside_of_a_sandbox_says_so(peer: Peer) -> None:
    for box in ("tasks", "messages"):
        (peer.directory / box).rmdir()
    peer.call("send_message", text="x")
    assert "inside of the sandbox" in peer.receive()["result"]["content"][0]["text"]


def test_list_shows_fifty_characters_of_a_prompt() -> None:
    item = {"id": "t", "prompt": "x" * 60, "schedule_type": "cron", "schedule_value": "* * * * *", "status": "active"}
    assert render_tasks([item, 5]).splitlines()[1] == f"- [t] {'x' * 50}... (cron: * * * * *) - active, next: N/A"
    for text in ("null", "{}", "[]"):
        assert render_tasks(json.loads(text)) == "No scheduled tasks found."


def test_tools_have_closed_schemas() -> None:
    for tool in tools_for(is_main=True).values():
        schema = tool.to_json()["inputSchema"]
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])


def test_command_serves_the_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source, sink = tmp_path / "in", tmp_path / "out"
    source.write_text('{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n', encoding="utf-8")
    with source.open() as given, sink.open("w") as taken:
        monkeypatch.setattr(sys, "stdin", given)
        monkeypatch.setattr(sys, "stdout", taken)
        assert main(["mcp", "--main", "--ipc", str(tmp_path)]) == 0
    tools = json.loads(sink.read_text(encoding="utf-8"))["result"]["tools"]
    assert [each["name"] for each in tools] == [*NAMES, "register_group"]


async def test_agent_in_bubblewrap_sends_a_message(requests: RequestHarness, python_root: Path) -> None:
    program("bwrap", package="bubblewrap")
    runtime = BubblewrapRuntime(f"mcp-{os.getpid()}", root=python_root)
    with TemporaryDirectory(prefix="horae-") as name:
        # The user of the sandbox must reach the directory.
        Path(name).chmod(0o755)
        requests.workspace = Workspace(Path(name).resolve() / "agents")
        requests.workspace.prepare(FAMILY, runtime.owner)
        requests.workspace.root.chmod(0o755)
        spec = RuntimeSpec(
            run="mcp",
            program=["python3", "-m", "horae.agents.runner.main", "mcp"],
            mounts=[
                Mount(str(requests.workspace.group_ipc(FAMILY)), "/workspace/ipc", writable=True),
                Mount(str(Path(horae.__file__).parent), "/opt/packages/horae", writable=False),
            ],
            environment={"PYTHONPATH": "/opt/packages", "PYTHONDONTWRITEBYTECODE": "1"},
        )
        async with serving(requests), await runtime.start(spec) as process:
            params = {"name": "send_message", "arguments": {"text": "from inside"}}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            await process.write(json.dumps(call).encode() + b"\n")
            async for chunk in process.output():
                assert chunk.stream == "stdout", chunk.data.decode()
                assert json.loads(chunk.data)["result"]["content"][0]["text"] == "Message sent."
                break
            process.close_input()
            assert (await process.wait()).code == 0
    assert await requests.texts(FAMILY) == ["from inside"]
