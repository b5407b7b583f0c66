"""Scheduled prompts on a real engine with SQLite and real processes: results, sessions, retries, refusals."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from secrets import token_hex

import pytest

from horae.agents.requests.executor import RequestExecutor
from horae.agents.requests.inbox import Request, RequestBox
from horae.agents.requests.snapshots import task_item
from horae.errors import Refusal
from horae.model.accounts.principal import LOCAL
from horae.model.agents.group import Group
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import Target
from horae.service.tasks.task_request import Options, RetryRequest, TaskRequest
from tests.servers.programs import program

from .agent_host import ECHO, AgentHost, OpenAgents, open_host

on_podman_too = pytest.mark.parametrize("agents", ["bubblewrap", "podman"], indirect=True)

RETRIES = Options(retry=RetryRequest(attempts=3, backoff="50ms", jitter="none"))


@pytest.fixture(autouse=True)
def _close_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds between the result and the request to close are tested without processes."""
    monkeypatch.setattr("horae.agents.target.turn_state.TASK_CLOSE_SECONDS", 0.1)


@pytest.mark.parametrize("runtime", ["process", "bubblewrap"])
async def test_the_result_of_a_prompt_is_delivered_and_kept(runtime: str, tmp_path: Path) -> None:
    if runtime == "bubblewrap":
        program("bwrap", package="bubblewrap")
    async with open_host(tmp_path, ECHO, runtime=runtime) as host:
        group = await host.add_group()
        run = await host.ended(await host.add_task(group, "Say good morning."))
        assert run.state is RunState.SUCCEEDED, run.error
        text = (
            "[SCHEDULED TASK - The following message was sent automatically and is not coming directly from the user or "
            "group.]\n\nSay good morning."
        )
        assert run.result == text
        assert await host.answers(group) == [text]
        (delivery,) = await host.deliveries(group)
        assert (delivery.text, delivery.origin) == (text, run.id)
        assert run.lanes[:2] == ("group:family", "agents")
        log = (host.target.workspace.logs("family") / f"{run.id}.log").read_text(encoding="utf-8")
        assert "asked to close: it has answered" in log


async def test_a_prompt_that_says_nothing_is_completed(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        run = await host.ended(await host.add_task(group, "think"))
        assert (run.state, run.result) == (RunState.SUCCEEDED, "Completed")
        assert await host.deliveries(group) == []


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("silent", "The agent ended without a result."),
        ("error out of tokens", "out of tokens"),
        ("crash", "Container exited with code 3: boom"),
    ],
)
async def test_failures_say_their_cause(prompt: str, error: str, agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        run = await host.ended(await host.add_task(group, prompt))
        assert (run.state, run.error) == (RunState.FAILED, error)


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [("say sunny", "sunny"), ("think", "Completed"), ("error out of tokens", "Error: out of tokens")],
)
async def test_the_last_result_of_a_task_is_in_plain_words(prompt: str, shown: str, agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        task = await host.add_task(group, prompt)
        await host.ended(task)
        facts = await host.store.facts(task.id, group.owner)
        assert task_item(facts, "family")["last_result"] == shown


async def test_the_directories_of_a_group_are_made_before_its_first_run(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        assert not host.target.workspace.group("family").exists()
        await host.ended(await host.add_task(group, "say one"))
        ipc = host.target.workspace.group_ipc("family")
        assert host.target.workspace.group("family").is_dir()
        assert {each.name for each in ipc.iterdir()} >= {"tasks", "messages", "input", "answers"}


@on_podman_too
async def test_a_retry_does_not_deliver_a_result_again(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        run = await host.ended(await host.add_task(group, "say one\ncrash-once\nsay two", options=RETRIES))
        assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
        assert await host.answers(group) == ["one", "two"]
        assert [each.text for each in await host.deliveries(group)] == ["one", "two"]


async def test_a_result_is_not_delivered_after_a_message_of_the_run(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        task = await host.add_task(group, "wait\nsay done")
        live = await host.until(lambda: _live(host, group))
        assert live.is_task
        await asyncio.gather(*(send_request(host, "family", f"message {number}") for number in range(4)))
        (host.target.workspace.group("family") / "go").touch()
        run = await host.ended(task)
        assert run.result == "done"
        assert sorted(each.text for each in await host.deliveries(group)) == [f"message {n}" for n in range(4)]
        assert host.target.live.find("family") is None


async def test_a_message_to_another_chat_leaves_the_result_to_the_own_one(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group("control", is_main=True)
        other = await host.add_group("family")
        task = await host.add_task(group, "wait\nsay done")
        await host.until_file(group, "waiting")
        await send_request(host, "control", "hello", chatJid=other.chat)
        (host.target.workspace.group("control") / "go").touch()
        await host.ended(task)
        assert await host.answers(group) == ["done"]
        assert await host.answers(other) == ["hello"]


async def test_a_message_of_the_attempt_before_a_crash_counts_for_the_next_one(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        task = await host.add_task(group, "wait\ncrash-once\nsay done", options=RETRIES)
        await host.until_file(group, "waiting")
        await send_request(host, "family", "by request")
        (host.target.workspace.group("family") / "go").touch()
        run = await host.ended(task)
        assert (run.state, run.attempt, run.result) == (RunState.SUCCEEDED, 2, "done")
        assert await host.answers(group) == ["by request"]


async def send_request(host: AgentHost, folder: str, text: str, **fields: str) -> None:
    """Carry out a request of the agent of a group, as any host of the directory does."""
    executor = RequestExecutor(host.app.service, host.app.clock, mask=host.target.mask)
    document = {"type": "message", "text": text, **fields}
    answer = await executor.execute(Request(folder, RequestBox.MESSAGES, f"{token_hex(8)}.json", document))
    assert answer["status"] == "accepted", answer


async def _live(host: AgentHost, group: Group) -> object:
    is_waiting = (host.target.workspace.group(group.folder) / "waiting").exists()
    return host.target.live.find(group.folder) if is_waiting else None


async def test_sessions_follow_the_context_mode(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "session chat")
        turn = await host.ask_turn(group)
        await host.until_answers(group, "session None")
        await host.stop(turn)
        isolated = await host.ended(await host.add_task(group, "session x"))
        joined = await host.ended(await host.add_task(group, "session y", context_mode="group"))
        again = await host.ended(await host.add_task(group, "session z", context_mode="group"))
        assert [run.result for run in (isolated, joined, again)] == ["session None", "session chat", "session chat"]
        series = await host.add_task(group, "session series", when="every 1h", context_mode="series")
        results = []
        for _ in range(2):
            await host.app.service.tasks.run_now(LOCAL, series.id)
            results.append((await host.ended(series)).result)
        assert results == ["session None", "session series"]


async def test_the_input_has_the_fields_of_the_protocol(agents: OpenAgents) -> None:
    async with agents(assistant="Nova", secrets=["API_KEY"]) as host:
        group = await host.add_group(is_main=True)
        missing = await host.ended(await host.add_task(group, "input"))
        assert missing.error is not None
        assert "the secret 'API_KEY'" in missing.error
        await host.app.service.secrets.set(LOCAL, "API_KEY", "s3cret")
        run = await host.ended(await host.add_task(group, "input", script="true"))
        assert json.loads(run.result) == {
            "groupFolder": "family",
            "chatJid": "web:family",
            "isMain": True,
            "isScheduledTask": True,
            "assistantName": "Nova",
            "script": "true",
            "secrets": {"API_KEY": "•••"},
        }


async def test_secrets_of_the_agent_are_in_no_result_error_log_or_chat(agents: OpenAgents) -> None:
    async with agents(secrets=["API_KEY"]) as host:
        await host.app.service.secrets.set(LOCAL, "API_KEY", "s3cret-key")
        group = await host.add_group()
        said = await host.ended(await host.add_task(group, "stderr it is s3cret-key\nsay it is s3cret-key"))
        assert said.result == "it is •••"
        failed = await host.ended(await host.add_task(group, "error it is s3cret-key"))
        assert failed.error == "it is •••"
        logs = "".join(path.read_text() for path in host.target.workspace.logs(group.folder).iterdir())
        assert "it is •••" in logs
        assert "s3cret-key" not in logs
        assert await host.answers(group) == ["it is •••"]


async def test_a_script_decides_whether_the_agent_is_asked(agents: OpenAgents) -> None:
    async with agents(ECHO) as host:
        group = await host.add_group()
        asleep = await host.ended(await host.add_task(group, "Look.", script="echo '{\"wakeAgent\": false}'"))
        awake = await host.ended(await host.add_task(group, "Look.", script='echo \'{"wakeAgent": true, "data": 7}\''))
        assert asleep.result == "Completed"
        assert awake.result == "[SCHEDULED TASK]\n\nScript output:\n7\n\nInstructions:\nLook."


async def test_an_unknown_group_fails_for_good_and_a_stopped_one_is_skipped(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        task = await host.add_task(group, "say one", when="every 1h", options=RETRIES)
        await host.app.service.groups.change(LOCAL, "family", is_stopped=True)
        await host.app.service.tasks.run_now(LOCAL, task.id)
        run = await host.ended(task)
        assert (run.state, run.reason) == (RunState.SKIPPED, Reason.AGENT_STOPPED)
        lost = await host.add_task(group._replace(folder="lost"), "say one", options=RETRIES)
        run = await host.ended(lost)
        assert (run.state, run.error, run.attempt) == (RunState.FAILED, "Group not found: lost", 1)


# --- specs and owners ----------------------------------------------------------------------------------------------


BAD_SPECS: list[tuple[object, object, str]] = [
    ({}, {"prompt": "x"}, "agent_spec"),
    ({"group": "global"}, {"prompt": "x"}, "agent_spec"),
    ({"group": "a/b"}, {"prompt": "x"}, "agent_spec"),
    ({"group": "family", "context_mode": "shared"}, {"prompt": "x"}, "agent_spec"),
    ({"group": "family", "script": 7}, {"prompt": "x"}, "agent_spec"),
    ({"group": "family", "messages": "yes"}, {"prompt": "x"}, "agent_spec"),
    ({"group": "family", "prompt": "x"}, {"prompt": "x"}, "agent_unknown_key"),
    ({"group": "family"}, {}, "agent_spec"),
    ({"group": "family"}, {"prompt": " "}, "agent_spec"),
    ({"group": "family"}, ["x"], "agent_spec"),
    ({"group": "family", "budget": {"tokens": -1}}, {"prompt": "x"}, "bad_number"),
    ({"group": "other"}, {"prompt": "x"}, "agent_owner"),
    ({"group": "family", "messages": True}, {}, "agent_messages"),
]


async def test_bad_specs_are_refused(tmp_path: Path) -> None:
    async with open_host(tmp_path) as host:
        group = await host.add_group()
        for spec, payload, code in BAD_SPECS:
            request = TaskRequest("x", "now", Target("agent", json.dumps(spec)), json.dumps(payload), group.owner)
            with pytest.raises(Refusal) as refused:
                await host.app.service.tasks.create(LOCAL, request)
            assert refused.value.code == code, (spec, payload)


async def test_lanes_of_agents_are_forced_and_stay_after_edits(tmp_path: Path) -> None:
    async with open_host(tmp_path) as host:
        group = await host.add_group()
        spec = Target("agent", json.dumps({"group": "family", "budget": {"runs": 3}}))
        request = TaskRequest("x", "every 1h", spec, '{"prompt": "x"}', group.owner, lane="slow", key="k")
        task = await host.app.service.tasks.create(LOCAL, request)
        assert task.lanes == ("slow", "group:family", "agents")
        assert json.loads(task.target.spec) == {"group": "family", "context_mode": "isolated", "budget": {"runs": 3}}
        declared = await host.app.service.tasks.declare(LOCAL, request._replace(lane=None))
        assert declared.lanes == ("group:family", "agents")
