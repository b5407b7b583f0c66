"""`horae mcp` as an assistant starts it: a real process, its input and output, and nothing else on them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from horae import Horae
from horae.mcp_server.catalogue import TOOLS
from horae.model.accounts.principal import Role
from horae.wire.problems import ExitCode
from tests.cli.command_line import Cli
from tests.cli.terminal import Terminal
from tests.mcp.process import desk_of
from tests.mcp.stage import ERAS, ZONE


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.mark.parametrize(
    ("language", "sentence"), [("en", "Waiting for an assistant"), ("zh", "正在标准输入上等待助手")]
)
def test_on_a_terminal_it_says_that_it_waits_and_how_to_configure_it(cli: Cli, language: str, sentence: str) -> None:
    with Terminal(cli, "mcp", "--lang", language, columns=80) as terminal:
        terminal.wait_for(sentence)
        terminal.wait_for('{"mcpServers": {"horae": {"command": "horae", "args": ["mcp"]}}}')
        terminal.interrupt()
        terminal.ended()


@pytest.mark.parametrize("mode", ERAS)
async def test_an_assistant_schedules_and_sees_it_run(cli: Cli, mode: str) -> None:
    async with desk_of(cli, mode=mode) as desk:
        assert [each.name for each in (await desk.client.list_tools()).tools] == list(TOOLS)
        told = await desk("whoami")
        assert (told["owner"], told["agent"], told["zone"]) == ("local", "assistant", ZONE)
        assert told["engine_running"] is False
        made = await desk("schedule_task", when="every 1h, 3 times", do="look at the mail", name="mail")
        assert [each["code"] for each in made["warnings"]] == ["no_listener", "no_engine"]
        assert made["task"]["labels"] == {"horae/agent": "assistant", "horae/via": "mcp"}
        async with Horae(cli.url):
            ran = await desk("run_task_now", id="mail", wait_seconds=60)
            assert ran["ended"]
            assert ran["run"]["state"] == "succeeded"
            assert (await desk("whoami"))["engine_running"] is True
        seen = await desk("get_run", id=ran["run_id"], log_tail=10)
        assert seen["run"]["task"] == "mail"
        assert (await desk("explain_task", id="mail"))["verdict"] == "ran"
        for tool, said in {
            "list_tasks": {},
            "list_runs": {"task": "mail"},
            "get_task": {"id": "mail"},
            "update_task": {"id": "mail", "name": "post"},
            "pause_task": {"id": "post", "reason": "rain"},
            "resume_task": {"id": "post"},
            "preview_schedule": {"when": "每天早上9点"},
            "cancel_task": {"id": "post"},
        }.items():
            await desk(tool, **said)
    assert (cli.directory / "stderr").read_text() == ""
    assert cli("ls", "--all", "--json").json[0]["state"] == "cancelled"


async def test_an_agent_is_limited_and_sees_only_its_own(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "private", "--name", "mine")

    async with desk_of(cli, "--agent", "helper") as desk:
        assert (await desk("list_tasks"))["tasks"] == []
        assert await desk.refused("get_task", id="mine") == "no_such_task"
        assert await desk.refused("schedule_task", when="every 1m, 3 times", do="x") == "interval_too_short"
        made = await desk("schedule_task", when="every 1h, 3 times", do={"http": "https://example.com/"})
        assert made["awaiting_approval"]
        assert await desk.refused("run_task_now", id=made["task"]["id"]) == "awaiting_approval"
    async with desk_of(cli, "--agent", "other", "--lang", "zh") as desk:
        assert (await desk("list_tasks"))["tasks"] == []
        assert "时区" in await desk.line("whoami")
    async with desk_of(cli, "--trusted") as desk:
        assert len((await desk("list_tasks"))["tasks"]) == 2
        assert (await desk("whoami"))["agent"] is None
        assert (await desk("schedule_task", when="every 1m", do="x"))["change"] == "new"


HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@contextmanager
def talking(cli: Cli) -> Iterator[subprocess.Popen[bytes]]:
    """A process that was greeted, and whose input is still open."""
    with subprocess.Popen(
        [sys.executable, "-W", "always", "-m", "horae", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=cli.environment(),
        cwd=cli.directory,
    ) as process:
        say(process, HELLO)
        assert answer_of(process)["result"]["serverInfo"]["name"] == "horae"
        say(process, READY)
        yield process


def say(process: subprocess.Popen[bytes], *messages: dict[str, Any] | bytes) -> None:
    assert process.stdin is not None
    for each in messages:
        process.stdin.write((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n")
    process.stdin.flush()


def answer_of(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    assert answer["jsonrpc"] == "2.0"
    return answer


def test_standard_output_has_messages_and_nothing_else_and_it_ends_with_its_input(cli: Cli) -> None:
    calling = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}
    broken = [b"", b"hello", b"{", b"[" * 10_000, b'{"jsonrpc":"2.0","id":7}', b"\xff\xfe", b"\x00"]
    with talking(cli) as process:
        say(process, *broken, calling)
        answer = answer_of(process)
        while answer.get("id") != 1:
            answer = answer_of(process)
        assert answer["result"]["structuredContent"]["owner"] == "local"
        rest, _ = process.communicate()
        assert rest == b""
        assert process.returncode == 0


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_though_nobody_has_closed_its_input(cli: Cli, sent: signal.Signals) -> None:
    with talking(cli) as process:
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
def test_what_cannot_be_is_told_before_anybody_talks(cli: Cli, options: list[str], code: int | None) -> None:
    done = cli("mcp", *options)
    assert done.code == code if code is not None else done.code not in (0, 1)
    assert done.out == ""
    assert done.err


def test_without_the_library_it_says_what_to_install(cli: Cli) -> None:
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


def test_nobody_else_loads_the_library() -> None:
    program = (
        "import sys, horae, horae.cli.main, horae.app; assert not {'mcp', 'mcp_types', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


async def _nine_each_day(cli: Cli, **environment: Any) -> list[dict[str, Any]]:
    async with desk_of(cli, **environment) as desk:
        made = await desk("schedule_task", when="every day at 9am, 3 times", do="stretch", name="stretch")
        seen = await desk("preview_schedule", when="每天早上9点")
        free = await desk("preview_schedule", when="in 20 minutes")
        named = await desk("preview_schedule", when="every day at 9am", zone="Tokyo")
        said = await desk("preview_schedule", when="every day at 9am Europe/London")
        return [made, seen, free, named, said]


def _zone_notes(told: dict[str, Any]) -> list[str]:
    return [each["message"] for each in told["warnings"] if each["code"] == "no_zone"]


async def test_zone_of_the_process_is_said_where_nobody_named_one(cli: Cli) -> None:
    made, seen, *others = await _nine_each_day(cli)
    assert _zone_notes(made) == [f"No zone was given: {made['zone']} is used, because HORAE_ZONE says so."]
    assert "HORAE_ZONE 是这样设置的" in _zone_notes(seen)[0]
    assert [_zone_notes(each) for each in others] == [[], [], []]


async def test_default_zone_of_the_owner_counts_before_that_of_the_process(cli: Cli) -> None:
    await _owner_in_tokyo(cli)
    made, *others = await _nine_each_day(cli)
    assert made["zone"] == "Asia/Tokyo"
    assert [_zone_notes(each) for each in (made, *others)] == [[]] * 5


async def _owner_in_tokyo(cli: Cli) -> None:
    async with Horae(cli.url, engine=False) as app:
        await app.service.accounts.put(app.who, "local", role=Role.ADMIN, zone="Asia/Tokyo")
