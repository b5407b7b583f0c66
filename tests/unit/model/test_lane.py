"""Lanes of agents: named after their owner, and blocked by no other lane."""

from __future__ import annotations

import pytest

from horae.errors import InvalidTask
from horae.model.accounts.principal import AGENT_LABEL
from horae.model.lanes.lane import (
    agent_lane,
    agent_of_lane,
    blocked_lane_name,
    is_lane_template,
    lanes_of_template,
    may_fill_in,
    owner_lane,
)


def test_agent_lane_names_its_owner() -> None:
    lane = agent_lane("ada", "robot")
    assert agent_of_lane("ada", lane) == "robot"
    assert agent_of_lane("bob", lane) is None
    assert agent_of_lane("ada", "ada/mail") is None


def test_task_is_blocked_by_its_agent_lane_only() -> None:
    assert blocked_lane_name("ada", agent_lane("ada", "robot")) == agent_lane("ada", "robot")
    for lane in (None, "ada/mail", "bob", owner_lane("bob"), agent_lane("bob", "robot")):
        assert blocked_lane_name("ada", lane) == ""


def test_name_with_placeholders_is_a_template() -> None:
    assert not is_lane_template("api")
    assert not is_lane_template("a{b")
    for name in ("api:{owner}", "{agent}", "{label:team}/x"):
        assert is_lane_template(name)
    for name in ("api:{user}", "{label:}", "{}"):
        with pytest.raises(InvalidTask) as refusal:
            is_lane_template(name)
        assert refusal.value.code == "bad_lane_placeholder"


def test_template_stands_for_the_lane_that_a_task_fills_it_in_to() -> None:
    labels = {"team": "red", AGENT_LABEL: "robot"}
    lanes = ("api:ada", "red", "robot!", "press")
    assert lanes_of_template("api:{owner}", "ada", labels, lanes) == ("api:ada",)
    assert lanes_of_template("api:{owner}", "bob", labels, lanes) == ()
    assert lanes_of_template("{label:team}", "bob", labels, lanes) == ("red",)
    assert lanes_of_template("{agent}!", "bob", labels, lanes) == ("robot!",)
    assert lanes_of_template("{label:none}", "bob", labels, lanes) == ()


def test_template_may_fill_in_to_names_of_its_form() -> None:
    assert may_fill_in("a.i:{owner}/{label:x}", "a.i:ada/1")
    assert not may_fill_in("a.i:{owner}/{label:x}", "api:ada/1")
    assert not may_fill_in("a.i:{owner}", "a.i:")
