"""Lanes of agents: named after their owner, and blocked by no other lane."""

from __future__ import annotations

from horae.model.lane import agent_lane, agent_of_lane, blocked_lane_name, owner_lane


def test_agent_lane_names_its_owner() -> None:
    lane = agent_lane("ada", "robot")
    assert agent_of_lane("ada", lane) == "robot"
    assert agent_of_lane("bob", lane) is None
    assert agent_of_lane("ada", "ada/mail") is None


def test_task_is_blocked_by_its_agent_lane_only() -> None:
    assert blocked_lane_name("ada", agent_lane("ada", "robot")) == agent_lane("ada", "robot")
    for lane in (None, "ada/mail", "bob", owner_lane("bob"), agent_lane("bob", "robot")):
        assert blocked_lane_name("ada", lane) == ""
