"""Turns of messages on a real engine with SQLite and real processes: from the stream to the answer and its delivery."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import pytest

from horae.model.accounts.principal import LOCAL
from horae.model.reason import Reason
from horae.model.record import Record
from horae.model.run import RunState
from tests.servers.programs import program

from .agent_host import ECHO, OpenAgents, open_host

on_podman_too = pytest.mark.parametrize("agents", ["bubblewrap", "podman"], indirect=True)


@pytest.mark.parametrize("runtime", ["process", "bubblewrap"])
async def test_a_message_is_answered_in_the_chat_and_delivered(runtime: str, tmp_path: Path) -> None:
    """With the runner of this package, and no setting but the runtime."""
    if runtime == "bubblewrap":
        program("bwrap", package="bubblewrap")
    async with open_host(tmp_path, ("horae-agent",), runtime=runtime) as host:
        group = await host.add_group()
        await host.post(group, "good morning")
        await host.ask_turn(group)
        (answer,) = await host.until(lambda: host.answers(group))
        assert '<message sender="Ada" time="Mar 1, 2026, 12:00 PM">good morning</message>' in answer
        assert await host.handled(group) == 1
        (delivery,) = await host.deliveries(group)
        assert (delivery.chat, delivery.text, delivery.owner) == ("web:family", answer, "group:family")
        assert delivery.origin.startswith("run_")


@on_podman_too
async def test_further_messages_are_piped_to_the_idle_agent(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "say one")
        await host.ask_turn(group)
        await host.until_answers(group, "one")
        await host.post(group, "say two")
        assert host.target.notify("family")
        await host.until_answers(group, "one", "two")
        assert await host.handled(group) == 3, "the answer `one` lies between the messages"
        assert host.journal(group) == ["start messages"]
        assert [each.text for each in await host.deliveries(group)] == ["one", "two"]


async def test_answers_have_their_own_delivery_and_those_beyond_the_limit_have_failed(
    agents: OpenAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("horae.service.chats.delivery_records.MAX_PENDING", 1)
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "say same", "say same")
        turn = await host.ask_turn(group)
        await host.until_answers(group, "same", "same")
        (run,) = await host.runs(turn)
        rows = (await host.app.service.chats.transcript(LOCAL, group.chat)).messages[-2:]
        found = [(row.run_id, row.delivery.state.value) for row in rows if row.delivery is not None]
        assert found == [(run.id, "pending"), (run.id, "failed")]


async def test_messages_are_noticed_without_a_notification(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "say one")
        await host.ask_turn(group)
        await host.until_answers(group, "one")
        await host.post(group, "say two")
        await host.until_answers(group, "one", "two")


async def test_an_idle_agent_of_a_group_with_a_trigger_takes_only_messages_that_wake_it(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group(requires_trigger=True, trigger="@bot")
        await host.post(group, "say nothing of this", "@bot wake up", "say one")
        await host.ask_turn(group)
        await host.until_answers(group, "nothing of this", "one")
        await host.post(group, "say two")
        host.target.notify("family")
        await host.post(group, "@bot again")
        host.target.notify("family")
        await host.until_answers(group, "nothing of this", "one", "two")


@on_podman_too
async def test_piped_messages_of_an_agent_that_dies_are_answered_by_the_next_attempt(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "say one")
        turn = await host.ask_turn(group)
        await host.until_answers(group, "one")
        await host.post(group, "crash-once", "say two")
        host.target.notify("family")
        await host.until_answers(group, "one", "two")
        assert host.journal(group) == ["start messages", "start messages"]
        assert [run.state for run in await host.runs(turn)][1:] == [RunState.FAILED]


async def test_messages_left_in_the_input_directory_are_removed_before_a_start(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        host.target.workspace.prepare("family", host.target.runtime.owner)
        folder = host.target.workspace.input("family")
        (folder / "00000001.json").write_text('{"type": "message", "text": "say old"}', encoding="utf-8")
        (folder / "_close").touch()
        await host.post(group, "say new")
        await host.ask_turn(group)
        await host.until_answers(group, "new")
        assert sorted(path.name for path in folder.iterdir()) == []


async def test_a_turn_without_messages_is_skipped(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group(requires_trigger=True, trigger="@bot")
        no_stream = await host.ended(await host.ask_turn(group))
        await host.post(group, "say hello")
        no_trigger = await host.ended(await host.ask_turn(group))
        for run in (no_stream, no_trigger):
            assert (run.state, run.error) == (RunState.SKIPPED, "no messages wait for the agent")
        assert await host.answers(group) == []


async def test_a_trigger_after_many_messages_is_found(agents: OpenAgents) -> None:
    """More messages than one prompt takes: the last of them travel along, and all are handled."""
    async with agents(ECHO) as host:
        group = await host.add_group(requires_trigger=True, trigger="@bot")
        await host.post(group, *(f"chatter {number}" for number in range(399)), "@bot hello", "and goodbye")
        await host.ask_turn(group)
        (answer,) = await host.until(lambda: host.answers(group))
        assert "@bot hello" in answer
        assert "chatter 398<" in answer
        assert "chatter 200<" not in answer
        assert '<messages omitted="201">' in answer
        assert "and goodbye" in answer, "it follows the message that woke the agent, in the next page"
        assert await host.handled(group) == 401


async def test_the_session_of_a_group_is_continued(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "session s7")
        first = await host.ask_turn(group)
        await host.until_answers(group, "session None")
        await host.stop(first)
        await host.post(group, "session")
        await host.ask_turn(group)
        await host.until_answers(group, "session None", "session s7")


async def test_a_stale_session_is_removed_and_the_agent_begins_afresh(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.store.put_record(Record("agent.session", "family", group.owner, '{"id":"old"}'), replacing=None)
        await host.post(group, "stale", "session")
        await host.ask_turn(group)
        await host.until_answers(group, "session None")
        assert await host.store.get_record("agent.session", "family") is None


async def test_a_failed_turn_is_retried_and_then_stays_unhandled(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "error no quota")
        turn = await host.ask_turn(group)
        run = await host.ended(turn)
        assert (run.state, run.error, run.attempt) == (RunState.FAILED, "no quota", 6)
        assert await host.handled(group) == 0


async def test_a_cancelled_turn_stops_its_agent(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "hang")
        turn = await host.ask_turn(group)
        await host.until_file(group, "hanging")
        run = await host.stop(turn)
        assert run.state is RunState.CANCELLED
        assert await host.target.runtime.reap() == []


async def test_usage_of_a_turn_is_recorded(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "say one", "say two")
        turn = await host.ask_turn(group)
        await host.until_answers(group, "one", "two")
        (run,) = await host.runs(turn)
        usage = await host.app.service.runs.usage(LOCAL, run.id)
        assert usage is not None
        assert (usage.input_tokens, usage.output_tokens, usage.turns) == (20, 10, 2)


async def test_a_turn_over_its_budget_is_skipped(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.app.service.budgets.put(LOCAL, "family", {"runs": 0})
        await host.post(group, "say one")
        run = await host.ended(await host.ask_turn(group))
        assert (run.state, run.reason) == (RunState.SKIPPED, Reason.OVER_BUDGET)
        assert await host.handled(group) == 0


async def test_an_agent_that_does_not_read_its_input_ends_by_its_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("horae.agents.target.turn_state.HARD_EXTRA_SECONDS", 0.0)
    deaf = (sys.executable, "-c", "import signal; signal.pause()")
    async with open_host(tmp_path, deaf) as host:
        group = await host.add_group(timeout=timedelta(seconds=1), idle=timedelta(seconds=1))
        await host.post(group, *["x" * 30_000] * 10)
        run = await host.ended(await host.ask_turn(group, retries=0))
        assert run.state is RunState.TIMED_OUT


async def test_an_agent_that_writes_without_end_is_stopped_after_the_longest_time_of_a_run(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group(max_run=timedelta(seconds=1))
        run = await host.ended(await host.add_task(group, "chatter"))
        assert (run.state, run.error) == (
            RunState.TIMED_OUT,
            "The agent ran longer than 1 s, the limit of a run.",
        )


async def test_a_directory_in_the_place_of_a_message_fails_no_later_turn(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        (host.target.workspace.input("family") / "00000001.json" / "inside").mkdir(parents=True)
        await host.post(group, "say one")
        await host.ask_turn(group)
        await host.until_answers(group, "one")
        await host.post(group, "say two")
        host.target.notify("family")
        await host.until_answers(group, "one", "two")
        assert host.journal(group) == ["start messages"]


async def test_an_agent_that_replaces_its_input_directory_by_a_link_gains_nothing(agents: OpenAgents) -> None:
    async with agents() as host:
        group = await host.add_group()
        await host.post(group, "say one", "link")
        turn = await host.ask_turn(group)
        await host.until_answers(group, "one")
        await host.post(group, "say two")
        host.target.notify("family")
        await host.until_answers(group, "one", "two")
        first = (await host.runs(turn))[-1]
        assert (first.state, str(first.error)) == (
            RunState.FAILED,
            "The directories of the agent cannot be used: input is not a directory: Not a directory",
        )
        assert list((host.target.workspace.group("family") / "trap").iterdir()) == []
