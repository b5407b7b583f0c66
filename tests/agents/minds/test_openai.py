"""Mind `openai` against a real HTTP server: the loop of tool calls, errors of the endpoint, sessions, usage."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from horae.agents.protocol import Usage
from horae.agents.runner.minds import MindFailed, ask
from horae.agents.runner.minds.chat_client import MAX_ATTEMPTS, ChatClient
from horae.agents.runner.minds.chat_sessions import MAX_SESSIONS, REMOVED_NOTE, ChatSessions, Message, compact
from horae.agents.runner.minds.mcp_tools import McpServer, Tool, ToolAnswer, open_mcp_tools
from horae.agents.runner.minds.mind import CUT_NOTE, MAX_ANSWER_CHARACTERS, STALE_SESSION
from horae.agents.runner.minds.openai import MAX_CALLS, ModelOptions, OpenAiMind
from horae.agents.runner.minds.shell_tool import ShellTools
from horae.clock import SystemClock
from tests.servers.model_stub import Call, Calls, Cut, Fail, Hang, ModelStub, Reply, Say, running_stub

PROGRAM = str(Path(__file__).with_name("tool_program.py"))
KEY = "sk-test"


class CountingClock(SystemClock):
    """Waits are recorded, not waited for."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)


class Desk:
    """A mind with its stub, its clock and its sessions."""

    def __init__(self, stub: ModelStub, folder: Path) -> None:
        self.stub = stub
        self.folder = folder
        self.clock = CountingClock()

    def mind(
        self, *behaviour: str, seconds: float = 20.0, key: str = KEY, url: str | None = None, **options: Any
    ) -> OpenAiMind:
        servers = [McpServer("test", [sys.executable, "-I", "-S", PROGRAM, *behaviour], {"GROUP": "family"})]
        return OpenAiMind(
            ChatClient(url or f"{self.stub.url}/v1", key, seconds, self.clock),
            ModelOptions(model="stub-1", **options),
            ChatSessions(self.folder),
            servers if behaviour else (),
            lambda: "It is 09:00.",
        )

    def sent(self, number: int = -1) -> Sequence[Any]:
        """Messages of one request, without the system prompt."""
        messages: list[Any] = self.stub.received[number].body["messages"]
        assert messages[0] == {"role": "system", "content": "It is 09:00."}
        return messages[1:]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with running_stub(key=KEY) as stub:
        yield Desk(stub, tmp_path)


async def failure(desk: Desk, *script: Reply, **options: Any) -> str:
    desk.stub.plan(*script)
    with pytest.raises(MindFailed) as raised:
        await desk.mind(**options).answer("hello", None)
    return str(raised.value)


async def test_answer_has_text_session_and_usage(desk: Desk) -> None:
    desk.stub.plan(Say(" 早上好 "))
    answer = await desk.mind(price_input=2.0, price_output=10.0).answer("你好", None)
    assert answer.text == "早上好"
    assert answer.usage == Usage(input_tokens=100, output_tokens=20, cost=0.0004, model="stub-1")
    assert desk.sent() == [{"role": "user", "content": "你好"}]
    assert "tools" not in desk.stub.received[0].body


async def test_session_continues_and_a_failed_turn_leaves_it_unchanged(desk: Desk) -> None:
    desk.stub.plan(Say("one"))
    mind = desk.mind()
    first = await mind.answer("1", None)
    desk.stub.plan(Fail(400, "no"))
    with pytest.raises(MindFailed):
        await mind.answer("lost", first.session_id)
    desk.stub.plan(Say("two"))
    second = await mind.answer("2", first.session_id)
    assert second.session_id == first.session_id
    assert [message["content"] for message in desk.sent()] == ["1", "one", "2"]


async def test_tool_is_called_and_its_answer_goes_back(desk: Desk) -> None:
    desk.stub.plan(Calls([Call("add", {"a": 1, "b": 2})], "I add."), Say("It is 3."))
    answer = await desk.mind("good").answer("1 + 2?", None)
    assert answer.text == "It is 3."
    assert answer.usage == Usage(input_tokens=200, output_tokens=40, cost=None, model="stub-1")
    offered = desk.stub.received[0].body["tools"]
    assert [each["function"]["name"] for each in offered] == ["add", "environment", "memory"]
    assert offered[0]["function"]["parameters"]["properties"] == {"a": {"type": "number"}, "b": {"type": "number"}}
    call, result = desk.sent()[1:]
    assert call["content"] == "I add."
    assert result == {"role": "tool", "tool_call_id": call["tool_calls"][0]["id"], "content": "3"}


async def test_wrong_tool_calls_are_answered_with_errors(desk: Desk) -> None:
    calls = [Call("ad", {}), Call("add", "{"), Call("add", "[]"), Call("add", {"b": 1})]
    desk.stub.plan(Calls(calls), Say("sorry"))
    assert (await desk.mind("good").answer("x", None)).text == "sorry"
    answers = [message["content"] for message in desk.sent() if message["role"] == "tool"]
    assert answers[0] == "Error: there is no tool 'ad'; the tools are: add, environment, memory"
    assert answers[1].startswith("Error: the arguments are not JSON: ")
    assert answers[2:] == ["Error: the arguments are not a JSON object", "Error: a is missing"]


async def test_number_of_calls_and_rounds_is_limited(desk: Desk) -> None:
    add = Call("add", {"a": 1, "b": 1})
    desk.stub.plan(Calls([add] * (MAX_CALLS + 1)), add, Say("done"))
    assert (await desk.mind("good", max_rounds=2).answer("x", None)).text == "done"
    assert desk.stub.received[2].body["tool_choice"] == "none"
    assert "Answer now, without tools" in desk.sent(2)[-1]["content"]
    answers = [message["content"] for message in desk.sent(1) if message["role"] == "tool"]
    assert answers[-2:] == ["2", f"Error: not called: at most {MAX_CALLS} calls are made in one round"]
    desk.stub.plan(add, add)
    with pytest.raises(MindFailed, match="still calls tools after 1 rounds") as raised:
        await desk.mind("good", max_rounds=1).answer("x", None)
    assert raised.value.usage == Usage(input_tokens=200, output_tokens=40, cost=None, model="stub-1")


async def test_rate_limit_is_waited_for_as_the_endpoint_asks(desk: Desk) -> None:
    desk.stub.plan(Fail(429, headers={"Retry-After": "7"}), Fail(429, headers={"retry-after-ms": "1500"}), Say("ok"))
    assert (await desk.mind().answer("x", None)).text == "ok"
    assert desk.clock.waits == [7.0, 1.5]
    text = await failure(desk, Fail(429, "slow down", headers={"Retry-After": "3600"}))
    assert text == "the model endpoint limits the rate (HTTP 429): slow down; it asks to wait 3600 s"


async def test_transient_errors_are_retried_with_growing_delays(desk: Desk) -> None:
    desk.stub.plan(Fail(503, "busy"), Cut(), Fail(200, body=b"<html>"), Fail(200, body=b'{"choices": []}'), Say("ok"))
    assert (await desk.mind().answer("x", None)).text == "ok"
    assert desk.clock.waits == [1.0, 2.0, 4.0, 8.0]
    text = await failure(desk, *[Fail(500, body=b"<h1>down</h1>\n")] * MAX_ATTEMPTS)
    assert text == f"the model endpoint fails (HTTP 500): <h1>down</h1>; {MAX_ATTEMPTS} attempts failed"


async def test_error_in_a_response_with_status_200_is_an_error(desk: Desk) -> None:
    body = json.dumps({"error": {"message": "upstream died"}}).encode()
    assert "upstream died" in await failure(desk, *[Fail(200, body=body)] * MAX_ATTEMPTS)


async def test_endpoint_that_does_not_answer_is_a_timeout(desk: Desk) -> None:
    text = await failure(desk, *[Hang()] * MAX_ATTEMPTS, seconds=0.05)
    assert text == f"the model has not answered within 0.05 s; {MAX_ATTEMPTS} attempts failed"


async def test_endpoint_that_cannot_be_reached_is_named_without_its_key(desk: Desk) -> None:
    await desk.stub.close()
    text = await failure(desk)
    assert "cannot be reached" in text
    assert KEY not in text


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Fail(400, "bad thing"), "the model endpoint refuses the request (HTTP 400): bad thing"),
        (Fail(402, "pay"), "the account of the model key has no credit left (HTTP 402): pay"),
        (
            Fail(429, "quota", code="insufficient_quota"),
            "the account of the model key has no credit left (HTTP 429): quota",
        ),
        (
            Fail(404, "no such model"),
            "the model endpoint does not know the model stub-1 or the path (HTTP 404): no such model. Check --model and --base-url.",
        ),
        (Say("", reason="content_filter"), "the content filter of the model endpoint has stopped the answer"),
        (Say("", reason="length"), "the model has reached its limit of tokens before it wrote an answer"),
    ],
)
async def test_final_errors_are_not_retried(desk: Desk, reply: Reply, expected: str) -> None:
    assert await failure(desk, reply) == expected
    assert desk.clock.waits == []


async def test_wrong_key_is_refused_with_a_hint(desk: Desk) -> None:
    text = await failure(desk, key="other")
    assert text.startswith("the model endpoint refuses the key (HTTP 401)")
    assert "other" not in text


async def test_cut_and_refused_answers_say_so(desk: Desk) -> None:
    desk.stub.plan(Say("half", reason="length"))
    cut = await desk.mind().answer("x", None)
    assert cut.text == "half\n\n[The answer was cut here: the model has reached its limit of tokens.]"
    message = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"cost": 0.25}}
    desk.stub.plan(Fail(200, body=json.dumps(body).encode()))
    refused = await desk.mind().answer("x", None)
    assert refused.text == "I can't help with that."
    assert refused.usage is not None
    assert refused.usage.cost == 0.25


async def test_limit_of_tokens_has_the_name_that_the_model_wants(desk: Desk) -> None:
    refused = Fail(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    desk.stub.plan(refused, Say("ok"), Say("ok"))
    mind = desk.mind(max_tokens=50)
    for _ in range(2):
        await mind.answer("x", None)
    sent = [{name for name in each.body if "tokens" in name} for each in desk.stub.received]
    assert sent == [{"max_tokens"}, {"max_completion_tokens"}, {"max_completion_tokens"}]
    assert desk.clock.waits == []


async def test_reasoning_in_the_answer_is_left_out(desk: Desk) -> None:
    desk.stub.plan(Say("<think>\nHm.\n</think>\n\nYes, <think> is a tag."))
    assert (await desk.mind().answer("x", None)).text == "Yes, <think> is a tag."


async def test_long_answer_is_cut_and_an_empty_one_is_null(desk: Desk) -> None:
    desk.stub.plan(Say("x" * (MAX_ANSWER_CHARACTERS + 1)), Say(""))
    long = await desk.mind().answer("x", None)
    assert long.text is not None
    assert len(long.text) == MAX_ANSWER_CHARACTERS
    assert long.text.endswith(CUT_NOTE)
    assert (await desk.mind().answer("x", long.session_id)).text is None


async def test_conversation_that_is_too_long_is_shortened(desk: Desk) -> None:
    mind = desk.mind()
    session: str | None = None
    for number in range(4):
        desk.stub.plan(Say(f"answer {number}"))
        session = (await mind.answer(f"question {number}", session)).session_id
    desk.stub.plan(Fail(400, "This model's maximum context length is 10 tokens"), Say("short"))
    answer = await mind.answer("last", session)
    assert answer.text == "short"
    assert len(desk.sent()) < 9
    assert desk.sent()[0]["content"].startswith(REMOVED_NOTE)
    assert desk.sent()[-1]["content"] == "last"
    text = await failure(desk, Fail(400, "x", code="context_length_exceeded"))
    assert text == "the conversation is too long for the model stub-1: x"


async def test_long_tool_answers_are_cut_when_one_turn_is_too_long(desk: Desk) -> None:
    too_long = Fail(400, "x", code="context_length_exceeded")
    desk.stub.plan(Call("add", {}), too_long, Say("done"))
    assert (await desk.mind("long").answer("x", None)).text == "done"
    assert len(desk.sent(1)[-1]["content"]) > 40_000
    assert len(desk.sent(2)[-1]["content"]) < 3_000
    desk.stub.plan(Call("add", {}), too_long, too_long)
    with pytest.raises(MindFailed, match="the conversation is too long"):
        await desk.mind("long").answer("x", None)


@pytest.mark.parametrize("session", ["openai-" + "0" * 24, "../../etc/passwd", "abc", ""])
async def test_unknown_session_is_stale(desk: Desk, session: str) -> None:
    with pytest.raises(MindFailed, match=STALE_SESSION):
        await desk.mind().answer("x", session)


@pytest.mark.parametrize("content", ["{", "[]", '{"messages": 5}', '{"messages": [{"role": "system"}]}', "[" * 5000])
async def test_malformed_session_file_is_stale(desk: Desk, content: str) -> None:
    sessions = ChatSessions(desk.folder)
    session = sessions.save(None, [{"role": "user", "content": "x"}])
    (desk.folder / "openai" / f"{session}.json").write_text(content)
    with pytest.raises(MindFailed, match=STALE_SESSION):
        sessions.load(session)


def test_number_of_sessions_is_bounded(tmp_path: Path) -> None:
    sessions = ChatSessions(tmp_path)
    made = [sessions.save(None, [{"role": "user", "content": "x"}]) for _ in range(MAX_SESSIONS + 3)]
    assert len(list((tmp_path / "openai").iterdir())) == MAX_SESSIONS
    assert sessions.load(made[-1])


def test_session_that_cannot_be_written_fails_the_turn(tmp_path: Path) -> None:
    (tmp_path / "openai").write_text("a file")
    with pytest.raises(MindFailed, match="the session cannot be written"):
        ChatSessions(tmp_path).save(None, [])


def test_compaction_drops_whole_turns_and_says_so_once() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    turn: list[Message] = [
        {"role": "user", "content": "q" * 100},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "t" * 100},
        {"role": "assistant", "content": "a"},
    ]
    assert compact(turn * 3, 10_000) == turn * 3
    once = compact(turn * 3, 1_000)
    assert len(once) == 8
    assert once[1:] == (turn * 2)[1:]
    twice = compact([*once, *turn], 1_000)
    assert len(twice) == 8
    assert str(twice[0]["content"]).count(REMOVED_NOTE) == 1
    assert compact(turn, 10) == turn, "the last turn stays"


async def test_tools_of_one_name_are_offered_once_and_odd_names_never(desk: Desk, tmp_path: Path) -> None:
    odd = ListedTools([Tool("add", "another", {}), Tool("a b", "odd", {}), Tool("x" * 65, "long", {})])
    mind = desk.mind("good")
    mind._own_tools = [odd, ShellTools(tmp_path)]
    desk.stub.plan(Call("add", {"a": 1, "b": 2}), Call("run_command", {"command": "pwd"}), Say("done"))
    await mind.answer("x", None)
    names = [each["function"]["name"] for each in desk.stub.received[0].body["tools"]]
    assert names == ["add", "environment", "memory", "run_command"]
    answers = [message["content"] for message in desk.sent() if message["role"] == "tool"]
    assert answers == ["3", str(tmp_path)]


class ListedTools:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tools

    async def call(self, name: str, arguments: Any) -> ToolAnswer:
        raise AssertionError((name, arguments))


async def test_shell_command_runs_in_the_directory_of_the_group(tmp_path: Path) -> None:
    folder = tmp_path / "a 'quoted' $name"
    folder.mkdir()
    shell = ShellTools(folder, seconds=5.0)
    note = "echo 'Mimi is a cat' > CLAUDE.md; cat CLAUDE.md"
    assert await shell.call("run_command", {"command": note}) == ("Mimi is a cat", False)
    assert (folder / "CLAUDE.md").exists()
    assert await shell.call("run_command", {"command": "echo bad >&2; exit 3"}) == ("exit code 3\nbad", True)
    assert await shell.call("run_command", {"command": ":"}) == ("(no output)", False)
    for wrong in ({}, {"command": 5}, {"command": " "}, {"command": "a\0b"}):
        assert (await shell.call("run_command", wrong)).is_error
    endless = await shell.call("run_command", {"command": "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"})
    assert endless == ("the command wrote more than 40000 bytes", True)


# --- tools of MCP servers -----------------------------------------------------------------------------------------------


def server(*behaviour: str) -> McpServer:
    return McpServer("test", [sys.executable, "-I", "-S", PROGRAM, *behaviour], {"GROUP": "family"})


async def test_server_gets_its_environment_and_long_answers_are_cut() -> None:
    async with open_mcp_tools(server()) as tools:
        assert json.loads((await tools.call("environment", {})).text)["GROUP"] == "family"
    async with open_mcp_tools(server("long")) as tools:
        text = (await tools.call("add", {})).text
        assert text.endswith("[The rest was left out: the answer is too long.]")
        assert len(text) < 60_000


async def test_server_that_dies_or_is_silent_is_an_error_of_the_call() -> None:
    async with open_mcp_tools(server("die")) as tools:
        for _ in range(2):
            dead = await tools.call("add", {"a": 1, "b": 2})
            assert dead.is_error
            assert dead.text.startswith("the tool add failed: ")
    async with open_mcp_tools(server("silent"), call_seconds=0.05) as tools:
        assert (await tools.call("add", {})) == ("the tool add has not answered within 0.05 s", True)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["horae-no-such-program"], "cannot be started"),
        ([sys.executable, "-c", "pass"], "does not work: "),
        ([sys.executable, "-I", "-S", PROGRAM, "refuse"], "does not work: not today"),
    ],
)
async def test_server_that_does_not_start_fails_the_turn(argv: Sequence[str], expected: str) -> None:
    with pytest.raises(MindFailed, match=expected):
        async with open_mcp_tools(McpServer("test", argv, {})):
            pass


async def test_unexpected_error_of_a_mind_fails_its_turn_only() -> None:
    class Broken:
        async def answer(self, prompt: str, session_id: str | None) -> Any:
            raise KeyError(prompt, session_id)

    with pytest.raises(MindFailed, match="KeyError"):
        await ask(Broken(), "x", None)


async def test_cancellation_ends_the_request(desk: Desk) -> None:
    desk.stub.plan(Hang())
    turn = asyncio.create_task(desk.mind().answer("x", None))
    await desk.stub.arrived.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
