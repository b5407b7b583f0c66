"""Rules for tasks of agents: owner and lanes."""

from __future__ import annotations

import json

import pytest

from horae.errors import Refusal
from horae.model.agents.agent_task import agent_lanes, check_agent_task, group_lane, pin_to_node, with_agent_lanes
from horae.model.task import Target
from horae.testing.factories import a_task


def agent(**spec: object) -> Target:
    return Target("agent", json.dumps(spec))


EVENT = Target("event", "{}")


@pytest.mark.parametrize("owner", ["group:family", "horae:group:family"])
def test_a_task_of_an_agent_belongs_to_its_group(owner: str) -> None:
    check_agent_task(owner, agent(group="family"))


@pytest.mark.parametrize("owner", ["local", "ada", "group:work", "family"])
@pytest.mark.parametrize("target", [agent(group="family"), Target("agent", "[]"), agent()])
def test_other_owners_are_refused(owner: str, target: Target) -> None:
    with pytest.raises(Refusal) as refused:
        check_agent_task(owner, target)
    assert refused.value.code == "agent_owner"


def test_the_turn_of_messages_is_a_system_task() -> None:
    check_agent_task("horae:group:family", agent(group="family", messages=True))
    with pytest.raises(Refusal) as refused:
        check_agent_task("group:family", agent(group="family", messages=True))
    assert refused.value.code == "agent_messages"


def test_other_targets_belong_to_every_owner_and_need_no_lanes() -> None:
    check_agent_task("ada", EVENT)
    assert agent_lanes(EVENT, ["slow"]) == ("slow",)
    task = a_task(target=EVENT)
    assert with_agent_lanes(task) is task


def test_lanes_of_the_group_and_of_all_agents_are_added_once() -> None:
    target = agent(group="family")
    assert agent_lanes(target, []) == ("group:family", "agents")
    assert agent_lanes(target, ["slow"]) == ("slow", "group:family", "agents")
    assert agent_lanes(target, ["agents", group_lane("family")]) == ("agents", "group:family")


def test_the_lane_of_another_group_is_left_out() -> None:
    task = a_task(target=agent(group="work"), lane="group:family")
    assert with_agent_lanes(task).lanes == ("group:work", "agents")


def test_labels_follow_the_node_of_the_group() -> None:
    gpu = (("gpu", "a100"),)
    assert pin_to_node(gpu, "one") == (("gpu", "a100"), ("node", "one"))
    assert pin_to_node((*gpu, ("node", "one")), "two", "one") == (("gpu", "a100"), ("node", "two"))
    assert pin_to_node((*gpu, ("node", "one")), None, "one") == gpu
    assert pin_to_node((*gpu, ("node", "own")), None, "one") == (*gpu, ("node", "own"))
