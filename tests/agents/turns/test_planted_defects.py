"""Planted defects of turns: each scenario fails with its defect, so that the tests of turns would find it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from horae.agents.target.agent_run import AgentRun
from horae.agents.target.input_directory import InputDirectory
from horae.agents.target.target import AgentTarget
from horae.agents.target.turn_state import Action, CommitResult, DeclareIdle, MessageBatch, PipeMessages, TurnState
from horae.model.accounts.principal import LOCAL
from horae.model.agents.agent_task import group_lane
from horae.service.tasks.task_request import Options, RetryRequest

from . import agent_host
from .agent_host import SCRIPTED, AgentHost, open_host


@pytest.fixture(autouse=True)
def _short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.agents.target.turn_state.TASK_CLOSE_SECONDS", 0.1)


# --- scenarios -----------------------------------------------------------------------------------------------------


async def agent_dies_with_a_piped_message(host: AgentHost) -> None:
    group = await host.add_group()
    await host.post(group, "say one")
    await host.ask_turn(group)
    await host.until_answers(group, "one")
    await host.post(group, "crash-once", "say two")
    host.target.notify("family")
    await host.until_answers(group, "one", "two")


async def attempt_fails_after_a_result(host: AgentHost) -> None:
    group = await host.add_group()
    options = Options(retry=RetryRequest(attempts=3, backoff="50ms", jitter="none"))
    await host.ended(await host.add_task(group, "say one\ncrash-once\nsay two", options=options))
    assert await host.answers(group) == ["one", "two"]


async def task_and_messages_wait(host: AgentHost) -> None:
    group = await host.add_group()
    await host.add_task(group, "wait\nsay busy")
    await host.until_file(group, "waiting")
    await host.post(group, "say answer")
    await host.ask_turn(group)
    task = await host.add_task(group, "say task")
    await host.until(lambda: waits(host, task.id))
    (host.target.workspace.group("family") / "go").touch()
    await host.until_answers(group, "busy", "task", "answer")


async def waits(host: AgentHost, task_id: str) -> bool:
    queued = await host.app.service.lanes.queued(LOCAL, group_lane("family"))
    return len(queued) == 2 and any(each.task.id == task_id for each in queued)


async def agent_left_a_message(host: AgentHost) -> None:
    group = await host.add_group()
    host.target.workspace.prepare("family", host.target.runtime.owner)
    left = host.target.workspace.input("family") / "00000000.json"
    left.write_text('{"type": "message", "text": "say old"}', encoding="utf-8")
    await host.post(group, "say new")
    await host.ask_turn(group)
    await host.until_answers(group, "new")
    await host.post(group, "say newer")
    host.target.notify("family")
    await host.until_answers(group, "new", "newer")


# --- defects -------------------------------------------------------------------------------------------------------


def acknowledge_when_piped(self: TurnState, batch: MessageBatch, _at: float) -> list[Action]:
    """As NanoClaw does: the cursor moves when the message is written, not when it is answered."""
    if not self.takes_messages:
        return []
    self._is_idle = False
    self.answered += batch.length
    self.handled = batch.handled
    committed = CommitResult(None, batch, None, is_turn_end=False)
    return [DeclareIdle(is_idle=False), PipeMessages(batch), committed]


async def deliver_always(_self: AgentRun) -> bool:
    return True


async def give_no_way(*_: Any) -> bool:
    return False


def clear_nothing(_self: InputDirectory) -> None: ...


Scenario = Callable[[AgentHost], Awaitable[None]]
DEFECTS: dict[str, tuple[Scenario, type, str, Any]] = {
    "acknowledge when piped": (agent_dies_with_a_piped_message, TurnState, "_take_messages", acknowledge_when_piped),
    "deliver again": (attempt_fails_after_a_result, AgentRun, "_delivers", deliver_always),
    "messages before tasks": (task_and_messages_wait, AgentTarget, "_has_waiting_task", give_no_way),
    "messages of a dead agent": (agent_left_a_message, InputDirectory, "clear", clear_nothing),
}


@pytest.mark.parametrize("name", DEFECTS)
async def test_the_scenario_finds_the_defect(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, owner, attribute, defect = DEFECTS[name]
    monkeypatch.setattr(owner, attribute, defect)
    monkeypatch.setattr(agent_host, "WITHIN", 3.0)
    async with open_host(tmp_path, SCRIPTED) as host:
        with pytest.raises(AssertionError):
            await scenario(host)
