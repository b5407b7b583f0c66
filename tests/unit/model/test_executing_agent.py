"""Agent of a task: the one that made it, or the one that executes it."""

from __future__ import annotations

from typing import Any

import pytest

from horae.model.agents.agent_task import executing_agent
from horae.model.task import Target
from horae.testing.factories import a_task

PROMPT = Target("agent", '{"group":"family"}')


@pytest.mark.parametrize(
    ("fields", "agent"),
    [
        ({}, None),
        ({"target": PROMPT}, None),
        ({"target": PROMPT, "owner": "group:family"}, "family"),
        ({"owner": "group:family"}, None),
        ({"labels": (("horae/agent", "robot"),), "target": PROMPT, "owner": "group:family"}, "robot"),
    ],
)
def test_agent_of_a_task_made_it_or_executes_it(fields: dict[str, Any], agent: str | None) -> None:
    assert executing_agent(a_task(**fields)) == agent
