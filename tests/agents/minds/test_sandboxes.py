"""Minds with a model inside of real sandboxes without a network: the model is reached through the forwarded socket."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from horae.agents.model_proxy import ModelProxy, read_endpoint
from horae.agents.protocol import CLOSE_FILE
from horae.agents.runner.minds import MindFailed
from horae.agents.runner.minds.claude import ClaudeMind, ClaudeOptions
from horae.agents.runner.minds.mind import STALE_SESSION
from horae.clock import SystemClock
from tests.deploy.podman import Podman
from tests.servers.model_stub import Call, Fail, ModelStub, Reply, Say, running_stub
from tests.servers.programs import program

from .sandbox import Sandbox, an_input, open_bubblewrap, open_podman

TASK = {"prompt": "发天气预报", "schedule_type": "cron", "schedule_value": "0 9 * * *"}
OPENAI = ("--mind", "openai", "--model", "stub-1", "--base-url", "http://127.0.0.1:8080/v1")
CLAUDE = ("--mind", "claude", "--model", "claude-sonnet-4-5", "--base-url", "http://127.0.0.1:8080")
MINDS = {"openai": OPENAI, "claude": CLAUDE}
SECRETS = {"openai": {"OPENAI_API_KEY": "sk-inside"}, "claude": {"ANTHROPIC_API_KEY": "sk-inside"}}
TOOL = {"openai": "schedule_task", "claude": "mcp__horae__schedule_task"}


@pytest.fixture
def bubblewrap(folder: Path) -> Sandbox:
    program("bwrap", package="bubblewrap")
    return open_bubblewrap(folder)


async def answers(sandbox: Sandbox, mind: str, prompt: str, *script: Reply, **fields: Any) -> tuple[Any, ModelStub]:
    """Run one turn of an agent with the key of the stub; return its first result."""
    async with running_stub(*script, key="sk-inside", socket=sandbox.socket) as stub:
        sandbox.socket.chmod(0o666)
        given = an_input(prompt, secrets=SECRETS[mind], **fields)
        async with sandbox.agent(given, *MINDS[mind]):
            result = await sandbox.next_result()
        return result, stub


@pytest.mark.parametrize("mind", ["openai", "claude"])
async def test_prompt_becomes_a_tool_call_a_request_file_an_answer_and_a_text(bubblewrap: Sandbox, mind: str) -> None:
    await play_host(bubblewrap, mind)


async def test_prompt_becomes_a_request_in_the_image_of_agents(podman: Podman, image: str, folder: Path) -> None:
    await play_host(open_podman(folder, podman, image), "openai")


async def play_host(sandbox: Sandbox, mind: str) -> None:
    """Answer the request file while the model waits, and check what the model and the chat get."""
    script = Call(TOOL[mind], TASK), Say("好的,每天早上9点。")
    async with asyncio.TaskGroup() as group:
        host = group.create_task(answer_request(sandbox.folder / "ipc"))
        result, stub = await answers(sandbox, mind, "@小时 每天早上9点给我发天气预报", *script)
    assert (result.status, result.result, result.error) == ("success", "好的,每天早上9点。", None)
    assert host.result() == {"type": "schedule_task", "context_mode": "group", **TASK}
    assert result.usage is not None
    assert (result.usage.input_tokens, result.usage.output_tokens) == (200, 40)
    assert "every day at 09:00" in json.dumps(stub.received[1].body["messages"][-1])
    assert "小时" in json.dumps(stub.received[0].body, ensure_ascii=False)


async def answer_request(ipc: Path) -> Any:
    """Wait for the request file, and write its answer file as the host does."""
    while not (found := list((ipc / "tasks").glob("[!.]*.json"))):
        await SystemClock().pause(0.02)
    request = json.loads(found[0].read_text())
    task = {"id": "tsk_1", "name": "weather", "description": "every day at 09:00", "zone": "Asia/Shanghai"}
    draft = ipc / "answers" / f".{found[0].name}"
    draft.write_text(json.dumps({"status": "accepted", "type": "schedule_task", "message": "", "task": task}))
    draft.chmod(0o644)
    draft.rename(ipc / "answers" / found[0].name)
    return request


async def test_without_a_key_inside_the_proxy_of_the_host_adds_it(bubblewrap: Sandbox) -> None:
    """Both minds, one after the other, through the socket of the run; the tokens are counted on the host."""
    async with running_stub(Say("one"), Say("two"), key="sk-host") as stub:
        proxy = ModelProxy(read_endpoint(stub.url, read_key), bubblewrap.folder / "sockets", SystemClock())
        async with proxy.open_socket("run-1") as opened:
            bubblewrap.socket = opened.path
            for mind, text in (("openai", "one"), ("claude", "two")):
                async with bubblewrap.agent(an_input("hello"), *MINDS[mind]):
                    assert (await bubblewrap.next_result()).result == text
    assert (opened.usage.requests, opened.usage.input_tokens, opened.usage.output_tokens) == (2, 200, 40)


async def read_key() -> str:
    return "sk-host"


async def test_memory_of_the_runner_cannot_be_read_by_its_children(bubblewrap: Sandbox) -> None:
    words = (*OPENAI, *bubblewrap.tool_server("tool_program.py"))
    async with (
        running_stub(Call("memory", {}), Say("done"), socket=bubblewrap.socket) as stub,
        bubblewrap.agent(an_input("x"), *words),
    ):
        assert (await bubblewrap.next_result()).result == "done"
    assert stub.received[1].body["messages"][-1]["content"] == "refused: Permission denied"


# --- mind claude: the real library and its program, in bubblewrap -------------------------------------------------------


async def test_claude_continues_its_session_with_the_memory_of_the_group(bubblewrap: Sandbox) -> None:
    (bubblewrap.folder / "group" / "CLAUDE.md").write_text("The cat is called Mimi.")
    (bubblewrap.folder / "global" / "CLAUDE.md").write_text("All groups are polite.")
    first, stub = await answers(bubblewrap, "claude", "I am Ada.", Say("Hello Ada."))
    asked = json.dumps(stub.received[0].body)
    for text in ("The cat is called Mimi.", "All groups are polite.", "Time zone of the group: UTC"):
        assert text in asked
    second, stub = await answers(bubblewrap, "claude", "Who am I?", Say("Ada."), session_id=first.new_session_id)
    assert (second.result, second.new_session_id) == ("Ada.", first.new_session_id)
    assert "Hello Ada." in json.dumps(stub.received[0].body["messages"])


async def test_claude_reports_a_stale_session_in_the_words_of_the_host(bubblewrap: Sandbox) -> None:
    session = "00000000-0000-4000-8000-000000000000"
    result, _ = await answers(bubblewrap, "claude", "hello", session_id=session)
    assert result.status == "error"
    assert f"{STALE_SESSION}: {session}" in result.error


async def test_session_of_another_mind_is_stale(folder: Path) -> None:
    options = ClaudeOptions(group=folder, home=folder, assistant="Andy", base_url="http://127.0.0.1:1", headers={})
    mind = ClaudeMind(options, (), lambda _: "", SystemClock().now)
    for session in ("echo-1", "openai-" + "0" * 24, "", "--help"):
        with pytest.raises(MindFailed, match=STALE_SESSION):
            await mind.answer("x", session)


async def test_key_is_in_no_environment_and_argument_that_a_command_of_the_model_can_read(bubblewrap: Sandbox) -> None:
    look = "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; grep -c . /proc/*/maps; true"
    script = Call("Bash", {"command": look, "description": "look"}), Say("done")
    result, stub = await answers(bubblewrap, "claude", "hello", *script)
    assert result.result == "done"
    seen = json.dumps(stub.received[1].body["messages"])
    assert "ANTHROPIC_BASE_URL" in seen
    assert "sk-inside" not in seen
    assert stub.received[0].headers["x-api-key"] == "sk-inside"


async def test_claude_archives_a_conversation_before_it_is_compacted(bubblewrap: Sandbox) -> None:
    first, _ = await answers(bubblewrap, "claude", "给猫 Mimi 的计划", Say("The plan of Mimi."))
    await answers(bubblewrap, "claude", "/compact", session_id=first.new_session_id)
    archived = list((bubblewrap.folder / "group" / "conversations").iterdir())
    assert [path.name[10:] for path in archived] == ["-给猫-mimi-的计划.md"]
    text = archived[0].read_text()
    assert "**User**: 给猫 Mimi 的计划" in text
    assert "**小时**: The plan of Mimi." in text


async def test_claude_does_not_answer_without_its_tools(bubblewrap: Sandbox) -> None:
    async with (
        running_stub(Say("hello"), socket=bubblewrap.socket),
        bubblewrap.agent(an_input("hello"), *CLAUDE, "--mcp-server", "broken=false"),
    ):
        assert (await bubblewrap.next_result()).error == "the MCP server broken does not work"


async def test_error_of_the_endpoint_is_an_error_result(bubblewrap: Sandbox) -> None:
    failures = [Fail(400, "no such thing", code="invalid_request_error")] * 9
    result, _ = await answers(bubblewrap, "claude", "hello", *failures)
    assert result.status == "error"
    assert "no such thing" in result.error


# --- the image ----------------------------------------------------------------------------------------------------------


async def test_image_runs_the_echo_mind_as_an_unprivileged_user(podman: Podman, image: str, folder: Path) -> None:
    sandbox = open_podman(folder, podman, image)
    async with running_stub(socket=sandbox.socket), sandbox.agent(an_input("早上好")) as process:
        assert (await sandbox.next_result()).result == "早上好"
        (folder / "ipc" / "input" / CLOSE_FILE).touch()
        assert (await process.wait()).code == 0
    inspected = json.loads(podman("image", "inspect", image))[0]["Config"]
    assert (inspected["User"], inspected["Entrypoint"]) == ("65534:65534", ["horae-agent"])
