"""`horae mcp` as a real process: tools over standard input and output, signals, options, and the zone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from horae import Horae
from horae.mcp_server.catalogue import TOOLS
from horae.model.accounts.principal import Role
from horae.wire.problems import ExitCode
from tests.cli.command_line import Cli
from tests.cli.terminal import Terminal
from tests.mcp.stdio_server import connect_stdio
from tests.mcp.tool_client import PROTOCOL_MODES, ZONE


@pytest.mark.parametrize(
    ("language", "sentence"), [("en", "Waiting for an assistant"), ("zh", "正在标准输入上等待助手")]
)
def test_terminal_shows_how_to_configure_a_client(cli: Cli, language: str, sentence: str) -> None:
    with Terminal(cli, "mcp", "--lang", language, columns=80) as terminal:
        terminal.wait_for(sentence)
        terminal.wait_for('{"mcpServers": {"horae": {"command": "horae", "args": ["mcp"]}}}')
        terminal.interrupt()
        terminal.ended()


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
async def test_scheduled_task_runs_and_its_run_is_read(cli: Cli, mode: str) -> None:
    async with connect_stdio(cli, mode=mode) as tools:
        assert [each.name for each in (await tools.client.list_tools()).tools] == list(TOOLS)
        identity = await tools("whoami")
        assert (identity["owner"], identity["agent"], identity["zone"]) == ("local", "assistant", ZONE)
        assert identity["engine_running"] is False
        made = await tools("schedule_task", when="every 1h, 3 times", do="look at the mail", name="mail")
        assert [each["code"] for each in made["warnings"]] == ["no_listener", "no_engine"]
        assert made["task"]["labels"] == {"horae/agent": "assistant", "horae/via": "mcp"}
        async with Horae(cli.url):
            ran = await tools("run_task_now", id="mail", wait_seconds=60)
            assert ran["ended"]
            assert ran["run"]["state"] == "succeeded"
            assert (await tools("whoami"))["engine_running"] is True
        seen = await tools("get_run", id=ran["run_id"], log_tail=10)
        assert seen["run"]["task"] == "mail"
        assert (await tools("explain_task", id="mail"))["verdict"] == "ran"
        for tool, arguments in {
            "list_tasks": {},
            "list_runs": {"task": "mail"},
            "get_task": {"id": "mail"},
            "update_task": {"id": "mail", "name": "post"},
            "pause_task": {"id": "post", "reason": "rain"},
            "resume_task": {"id": "post"},
            "preview_schedule": {"when": "每天早上9点"},
            "cancel_task": {"id": "post"},
        }.items():
            await tools(tool, **arguments)
    assert (cli.directory / "stderr").read_text() == ""
    assert cli("ls", "--all", "--json").json[0]["state"] == "cancelled"


async def test_agent_is_limited_and_sees_only_its_own_tasks(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "private", "--name", "mine")

    async with connect_stdio(cli, "--agent", "helper") as tools:
        assert (await tools("list_tasks"))["tasks"] == []
        assert await tools.refused("get_task", id="mine") == "no_such_task"
        assert await tools.refused("schedule_task", when="every 1m, 3 times", do="x") == "interval_too_short"
        made = await tools("schedule_task", when="every 1h, 3 times", do={"http": "https://example.com/"})
        assert made["awaiting_approval"]
        assert await tools.refused("run_task_now", id=made["task"]["id"]) == "awaiting_approval"
    async with connect_stdio(cli, "--agent", "other", "--lang", "zh") as tools:
        assert (await tools("list_tasks"))["tasks"] == []
        assert "时区" in await tools.line("whoami")
    async with connect_stdio(cli, "--trusted") as tools:
        assert len((await tools("list_tasks"))["tasks"]) == 2
        assert (await tools("whoami"))["agent"] is None
        assert (await tools("schedule_task", when="every 1m", do="x"))["change"] == "new"


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@contextmanager
def initialized_process(cli: Cli) -> Iterator[subprocess.Popen[bytes]]:
    """Run `horae mcp` through its initialization and yield it with its input open."""
    with subprocess.Popen(
        [sys.executable, "-W", "always", "-m", "horae", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=cli.environment(),
        cwd=cli.directory,
    ) as process:
        send(process, INITIALIZE)
        assert read_message(process)["result"]["serverInfo"]["name"] == "horae"
        send(process, INITIALIZED)
        yield process


def send(process: subprocess.Popen[bytes], *messages: dict[str, Any] | bytes) -> None:
    assert process.stdin is not None
    for each in messages:
        process.stdin.write((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n")
    process.stdin.flush()


def read_message(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    assert answer["jsonrpc"] == "2.0"
    return answer


def test_standard_output_has_only_messages_and_the_process_ends_with_its_input(cli: Cli) -> None:
    calling = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}
    broken = [b"", b"hello", b"{", b"[" * 10_000, b'{"jsonrpc":"2.0","id":7}', b"\xff\xfe", b"\x00"]
    with initialized_process(cli) as process:
        send(process, *broken, calling)
        answer = read_message(process)
        while answer.get("id") != 1:
            answer = read_message(process)
        assert answer["result"]["structuredContent"]["owner"] == "local"
        rest, _ = process.communicate()
        assert rest == b""
        assert process.returncode == 0


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_the_process_while_its_input_is_open(cli: Cli, sent: signal.Signals) -> None:
    with initialized_process(cli) as process:
        process.send_signal(sent)
        assert process.wait(30) == -sent
    assert cli("db", "check").code == 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--agent", "two words"], ExitCode.INVALID),
        (["--agent", ""], ExitCode.INVALID),
        (["--store", "memory://"], None),
        (["--server", "http://127.0.0.1:1"], ExitCode.USAGE),
    ],
)
def test_invalid_options_are_refused_at_the_start(cli: Cli, options: list[str], code: int | None) -> None:
    done = cli("mcp", *options)
    assert done.code == code if code is not None else done.code not in (0, 1)
    assert done.out == ""
    assert done.err


def test_missing_library_is_named_with_its_extra(cli: Cli) -> None:
    program = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['horae', 'mcp']; from horae.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=cli.environment(),
        cwd=cli.directory,
        check=False,
    )
    assert done.returncode == ExitCode.INVALID
    assert "pip install 'horae[mcp]'" in done.stderr
    assert done.stdout == ""


def test_mcp_library_is_loaded_by_no_other_module() -> None:
    program = (
        "import sys, horae, horae.cli.main, horae.app; assert not {'mcp', 'mcp_types', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


async def _schedule_and_preview(cli: Cli, **environment: Any) -> list[dict[str, Any]]:
    async with connect_stdio(cli, **environment) as tools:
        made = await tools("schedule_task", when="every day at 9am, 3 times", do="stretch", name="stretch")
        seen = await tools("preview_schedule", when="每天早上9点")
        free = await tools("preview_schedule", when="in 20 minutes")
        named = await tools("preview_schedule", when="every day at 9am", zone="Tokyo")
        inline = await tools("preview_schedule", when="every day at 9am Europe/London")
        return [made, seen, free, named, inline]


def _zone_notes(answer: dict[str, Any]) -> list[str]:
    return [each["message"] for each in answer["warnings"] if each["code"] == "no_zone"]


async def test_zone_of_the_process_is_used_with_a_warning(cli: Cli) -> None:
    made, seen, *others = await _schedule_and_preview(cli)
    assert _zone_notes(made) == [f"No zone was given: {made['zone']} is used, because HORAE_ZONE says so."]
    assert "HORAE_ZONE 是这样设置的" in _zone_notes(seen)[0]
    assert [_zone_notes(each) for each in others] == [[], [], []]


async def test_default_zone_of_the_owner_precedes_that_of_the_process(cli: Cli) -> None:
    await _set_zone_of_the_owner(cli)
    made, *others = await _schedule_and_preview(cli)
    assert made["zone"] == "Asia/Tokyo"
    assert [_zone_notes(each) for each in (made, *others)] == [[]] * 5


async def _set_zone_of_the_owner(cli: Cli) -> None:
    async with Horae(cli.url, engine=False) as app:
        await app.service.accounts.put(app.who, "local", role=Role.ADMIN, zone="Asia/Tokyo")
