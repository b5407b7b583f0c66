"""The runner: real processes, plain and inside of bubblewrap, that speak the protocol with the host."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import horae
from horae.agents.protocol import (
    CLOSE_FILE,
    SCHEDULED_TASK_PREFIX,
    AgentInput,
    AgentResult,
    BadResult,
    InputMessage,
    ResultParser,
    Usage,
    write_input,
    write_input_file,
)
from horae.agents.runner.child import ChildFailed, prompt_with_data, run_child, run_script
from horae.agents.runner.inbox import MAX_MESSAGES, Inbox
from horae.agents.runner.main import main
from horae.agents.runtimes.bubblewrap import BubblewrapRuntime
from horae.agents.runtimes.process import ProcessRuntime
from horae.ports.runtime import Exit, ForwardedSocket, Mount, RuntimeProcess, RuntimeSpec
from tests.servers.programs import program

PACKAGE = Path(horae.__file__).parent
MODEL = "/run/horae/model.sock"


class Host:
    """Starts one agent, and reads its results."""

    def __init__(self, kind: str, folder: Path, root: Path) -> None:
        self.install = f"runner-{os.getpid()}"
        self.runtime = (
            BubblewrapRuntime(self.install, root=root)
            if kind == "bubblewrap"
            else ProcessRuntime(self.install, is_allowed=True)
        )
        self.python = "python3" if kind == "bubblewrap" else sys.executable
        self.input = folder / "ipc" / "input"
        self.input.mkdir(parents=True)
        for path in (self.input.parent, self.input):
            os.chown(path, *self.runtime.owner)
        self.sockets: list[ForwardedSocket] = []
        self.parser = ResultParser()
        self.results: list[AgentResult | BadResult] = []

    def send(self, name: str, text: str) -> None:
        """Write a message as the host does: complete under another name, then renamed."""
        self.put(f".{name}", write_input_file(InputMessage(text)))
        (self.input / f".{name}").rename(self.input / name)

    def put(self, name: str, data: bytes) -> None:
        # The agent removes what it has read, at once.
        path = self.input.parent / f"new-{name}"
        path.write_bytes(data)
        path.chmod(0o644)
        path.rename(self.input / name)

    @asynccontextmanager
    async def agent(self, given: AgentInput | bytes, *arguments: str) -> AsyncIterator[RuntimeProcess]:
        words = [self.python, "-m", "horae.agents.runner.main", "--poll", "0.02", "--input", "/workspace/ipc/input"]
        spec = RuntimeSpec(
            run="agent",
            program=[*words, *arguments],
            mounts=[
                Mount(str(self.input.parent), "/workspace/ipc", writable=True),
                Mount(str(PACKAGE), "/opt/horae/horae"),
            ],
            sockets=self.sockets,
            environment={"PYTHONPATH": "/opt/horae", "PYTHONDONTWRITEBYTECODE": "1"},
        )
        async with asyncio.timeout(30), await self.runtime.start(spec) as process:
            await process.write(given if isinstance(given, bytes) else write_input(given))
            process.close_input()
            self.output = process.output()
            yield process

    async def next_result(self) -> AgentResult:
        """Wait for the next result of the agent."""
        while not self.results:
            chunk = await anext(self.output)
            if chunk.stream == "stderr":
                sys.stderr.write(chunk.data.decode())
            else:
                self.results += self.parser.feed(chunk.data)
        result = self.results.pop(0)
        assert isinstance(result, AgentResult), result
        return result

    async def texts(self, count: int) -> Sequence[str | None]:
        return [(await self.next_result()).result for _ in range(count)]


@pytest.fixture(scope="module")
def root(python_root: Path) -> Path:
    program("bwrap", package="bubblewrap")
    return python_root


@pytest.fixture(params=["process", "bubblewrap"])
def host(request: pytest.FixtureRequest, root: Path) -> Iterator[Host]:
    with TemporaryDirectory(prefix="horae-") as name:
        yield Host(request.param, Path(name).resolve(), root)


def an_input(prompt: str, **fields: Any) -> AgentInput:
    return AgentInput(prompt=prompt, group_folder="family", chat_jid="web:1", is_main=False, **fields)


async def test_agent_answers_then_further_messages_then_closes(host: Host) -> None:
    async with host.agent(an_input("早上好")) as process:
        first = await host.next_result()
        assert (first.status, first.result, first.new_session_id) == ("success", "早上好", "echo-1")
        assert first.usage is not None
        assert first.usage.model == "echo"
        assert await host.texts(1) == [None]
        host.send("2.json", "and you?")
        second = await host.next_result()
        assert (second.result, second.new_session_id) == ("and you?", "echo-2")
        assert await host.texts(1) == [None]
        assert not (host.input / "2.json").exists(), "the message is not acknowledged"
        host.put(CLOSE_FILE, b"")
        assert await process.wait() == Exit(0, "exited")


async def test_scheduled_task_has_the_prefix_and_leftovers_follow_in_order(host: Host) -> None:
    host.send("2.json", "second")
    host.send("10.json", "first by name")
    host.put("bad.json", b"{")
    host.put(CLOSE_FILE, b"")
    (host.input / "link.json").symlink_to("/etc/hostname")
    os.mkfifo(host.input / "pipe.json")
    async with host.agent(an_input("go", is_scheduled_task=True)) as process:
        assert await host.texts(2) == [f"{SCHEDULED_TASK_PREFIX}go\nfirst by name\nsecond", None]
        assert list(host.input.iterdir()) == [], "the close file of an earlier agent and bad files are deleted"
        host.put(CLOSE_FILE, b"")
        assert (await process.wait()).code == 0


async def test_unreadable_input_is_an_error_result(host: Host) -> None:
    async with host.agent(b'{"prompt": 5}') as process:
        result = await host.next_result()
        assert result.status == "error"
        assert "/prompt" in str(result.error)
        assert (await process.wait()).code == 1


async def test_command_answers_and_its_failure_is_an_error_result(host: Host) -> None:
    async with host.agent(an_input("hello"), "--mind", "command", "--", "sh", "-c", "read x; echo $x $x") as process:
        assert await host.texts(2) == ["hello hello", None]
        host.put(CLOSE_FILE, b"")
        assert (await process.wait()).code == 0
    async with host.agent(
        an_input("hello"), "--mind", "command", "--", "sh", "-c", "echo broken >&2; exit 3"
    ) as process:
        result = await host.next_result()
        assert (result.status, result.error) == ("error", "sh ended with the code 3: broken")
        assert (await process.wait()).code == 1


async def test_echo_makes_the_tool_calls_of_its_prompt_and_repeats_what_is_none(host: Host) -> None:
    listed = [{"id": "tsk_1", "prompt": "weather", "schedule_type": "cron", "schedule_value": "0 9 * * *"}]
    (host.input.parent / "current_tasks.json").write_text(json.dumps(listed))
    (host.input.parent / "current_tasks.json").chmod(0o644)
    escaped = "<message>@Andy !list_tasks {} and !schedule_task {&quot;prompt&quot;: 7}</message>"
    async with host.agent(an_input(escaped)) as process:
        text = str((await host.next_result()).result)
        assert "tsk_1" in text
        assert "prompt must be a text" in text
        assert await host.texts(1) == [None]
        for number, none in enumerate(("!list_tasks", "!list_tasks {", "look!list_tasks {}")):
            host.send(f"{number}.json", none)
            assert await host.texts(2) == [none, None]
        host.put(CLOSE_FILE, b"")
        assert (await process.wait()).code == 0


async def test_message_is_acknowledged_only_with_its_result(host: Host) -> None:
    """The program kills the runner in its second turn: the message of that turn is left."""
    deadly = "read x; test $x = die && kill -9 $PPID; echo $x"
    async with host.agent(an_input("live"), "--mind", "command", "--", "sh", "-c", deadly) as process:
        assert await host.texts(2) == ["live", None]
        host.send("1.json", "die")
        assert (await process.wait()).code == 137
    assert (host.input / "1.json").exists()


async def test_close_during_a_turn_ends_after_its_result(host: Host) -> None:
    """The program itself makes the request, so that it is there when the turn ends; an empty answer is still a result."""
    close = f"read x; : > {host.input if host.python == sys.executable else '/workspace/ipc/input'}/{CLOSE_FILE}"
    async with host.agent(an_input("x"), "--mind", "command", "--", "sh", "-c", f"{close}; echo done") as process:
        assert await host.texts(1) == ["done"]
        assert (await process.wait()).code == 0
        assert [chunk async for chunk in host.output] == []
    async with host.agent(an_input("x"), "--mind", "command", "--", "sh", "-c", close) as process:
        assert await host.texts(1) == [None]
        assert (await process.wait()).code == 0


async def test_model_is_reached_through_the_socket_without_a_network(root: Path) -> None:
    with TemporaryDirectory(prefix="horae-") as name:
        host = Host("bubblewrap", Path(name).resolve(), root)
        model = await asyncio.start_unix_server(_answer_http, Path(name) / "model.sock")
        (Path(name) / "model.sock").chmod(0o666)
        host.sockets = [ForwardedSocket(str(Path(name).resolve() / "model.sock"), MODEL)]
        ask = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8080/v1').read().decode())"
        words = ("--forward", f"8080:{MODEL}", "--mind", "command", "--", "python3", "-c", ask)
        async with host.agent(an_input("x"), *words):
            assert await host.texts(1) == ["GET /v1 HTTP/1.1"]
        model.close()


async def _answer_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(head) + head)
    await writer.drain()
    writer.close()


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("""echo noise; echo '{"wakeAgent": true, "data": {"n": 1}}'; echo""", (True, {"n": 1})),
        ("""echo '{"wakeAgent": true}'""", (True, None)),
        ("""echo '{"wakeAgent": false}'""", (False, None)),
        ("""echo '{"wakeAgent": 1}'""", (False, None)),
        ("""echo '{"wakeAgent": true}'; exit 1""", (False, None)),
        ("""echo '{"wakeAgent": true}'; echo more""", (False, None)),
        ("echo '[]'", (False, None)),
        ("true", (False, None)),
        ("while :; do :; done", (False, None)),
        (
            "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
            (False, None),
        ),
    ],
)
async def test_script_decides_whether_the_agent_wakes(script: str, expected: tuple[bool, Any]) -> None:
    assert await run_script(script, 1.0 if "while" in script else 30.0) == expected


async def test_script_gives_its_data_to_the_prompt_or_ends_the_run(root: Path) -> None:
    with TemporaryDirectory(prefix="horae-") as name:
        host = Host("process", Path(name).resolve(), root)
        script = """echo '{"wakeAgent": true, "data": {"度": 21}}'"""
        async with host.agent(an_input("weather", is_scheduled_task=True, script=script)):
            expected = '[SCHEDULED TASK]\n\nScript output:\n{\n  "度": 21\n}\n\nInstructions:\nweather'
            assert prompt_with_data("weather", {"度": 21}) == expected
            assert await host.texts(2) == [expected, None]
        async with host.agent(an_input("weather", is_scheduled_task=True, script="exit 1")) as process:
            result = await host.next_result()
            assert (result.result, result.usage) == (None, Usage(input_tokens=0, output_tokens=0, cost=0.0))
            assert (await process.wait()).code == 0
        # Only a scheduled task has a script phase.
        async with host.agent(an_input("weather", script="exit 1")):
            assert await host.texts(1) == ["weather"]


async def test_program_that_writes_too_much_or_is_missing_fails() -> None:
    with pytest.raises(ChildFailed, match="more than 1000 bytes"):
        await run_child(["sh", "-c", "while :; do echo xxxxxxxx; done"], b"", 1000)
    with pytest.raises(ChildFailed, match="cannot be started"):
        await run_child(["horae-no-such-program"], b"", 1000)


def test_a_turn_takes_a_bounded_number_of_messages(tmp_path: Path) -> None:
    for number in range(MAX_MESSAGES + 5):
        (tmp_path / f"{number:04}.json").write_bytes(write_input_file(InputMessage(str(number))))
    (tmp_path / "half.json.tmp").write_text("{")
    inbox = Inbox(tmp_path)
    batch = inbox.read()
    assert batch.texts == tuple(str(number) for number in range(MAX_MESSAGES))
    batch.acknowledge()
    assert len(inbox.read().texts) == 5
    assert Inbox(tmp_path / "absent").read().texts == ()


@pytest.mark.parametrize(
    "words", [["--mind", "command"], ["--forward", "x"], ["--forward", "80:relative"], ["--mind", "x"]]
)
def test_wrong_arguments_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(words)
    assert "horae-agent" in capsys.readouterr().err


def test_input_of_the_documentation_is_valid_json() -> None:
    assert json.loads(write_input(an_input("x"))) == {
        "prompt": "x",
        "groupFolder": "family",
        "chatJid": "web:1",
        "isMain": False,
    }
