"""Lanes of agents: found by their owner's name, and by no other's."""

from __future__ import annotations

from horae.model.lane import agent_in, agent_lane, also_barred_as, owner_lane


def test_an_agents_lane_is_known_by_its_owner() -> None:
    lane = agent_lane("ada", "robot")
    assert agent_in("ada", lane) == "robot"
    assert agent_in("bob", lane) is None
    assert agent_in("ada", "ada/mail") is None


def test_a_task_is_barred_by_the_lane_of_its_agent_and_by_no_other_lane() -> None:
    assert also_barred_as("ada", agent_lane("ada", "robot")) == agent_lane("ada", "robot")
    for lane in (None, "ada/mail", "bob", owner_lane("bob"), agent_lane("bob", "robot")):
        assert also_barred_as("ada", lane) == ""
