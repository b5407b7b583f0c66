"""A turn and a prompt in real containers of podman."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from horae.model.agents.group import Group
from horae.model.run import RunState

from .agent_host import ECHO, AgentHost, open_host


@pytest.fixture(autouse=True)
def _close_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.agents.target.turn_state.TASK_CLOSE_SECONDS", 0.1)


async def test_messages_and_prompts_are_answered_by_agents_in_containers(
    podman_settings: Mapping[str, Any], tmp_path: Path
) -> None:
    async with open_host(tmp_path, ECHO, **podman_settings) as host:
        group = await host.add_group()
        await host.post(group, "good morning")
        await host.ask_turn(group)
        (answer,) = await host.until(lambda: host.answers(group))
        assert ">good morning</message>" in answer
        await host.post(group, "and good night")
        host.target.notify("family")
        assert "and good night" in (await host.until(lambda: second_answer(host, group)))
        task = await host.add_task(group, "Say hello.")
        run = await host.ended(task)
        assert run.state is RunState.SUCCEEDED, run.error
        assert str(run.result).endswith("Say hello.")
        assert [each.text for each in await host.deliveries(group)][-1] == run.result


async def second_answer(host: AgentHost, group: Group) -> str | None:
    answers = await host.answers(group)
    return answers[1] if len(answers) > 1 else None
