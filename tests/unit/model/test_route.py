"""Doors: one for each function, one for each other kind of target, and never a guess where the spec cannot be read."""

from __future__ import annotations

import json

import pytest

from horae.model import route
from horae.model.lane import owner_lane
from horae.model.route import function_route, is_route, kind_route, route_of
from horae.model.task import Target


@pytest.mark.parametrize(
    ("target", "door"),
    [
        (Target("function", '{"name":"garden.water"}'), "function:garden.water"),
        (Target("function", '{"name":"浇花"}'), "function:浇花"),
        (Target("http", '{"url":"https://example.org"}'), "target:http"),
        (Target("command", "no JSON at all"), "target:command"),
        (Target("function", "no JSON at all"), "function:"),
        (Target("function", '{"other":1}'), "function:"),
        (Target("function", '["name"]'), "function:"),
        (Target("function", "7"), "function:"),
        (Target("function", '{"name":7}'), "function:7"),
    ],
)
def test_every_target_has_a_door(target: Target, door: str) -> None:
    assert route_of(target) == door
    assert route_of(target) == door, "the same when it is asked again"
    assert is_route(door)


def test_a_function_called_like_a_kind_has_a_door_of_its_own() -> None:
    assert function_route("http") != kind_route("http")


@pytest.mark.parametrize("lane", [None, "", "press", owner_lane("ada"), "targets", "functions", "function", "a:b"])
def test_an_ordinary_lane_is_no_door(lane: str | None) -> None:
    assert not is_route(lane)


def test_what_is_remembered_is_bounded() -> None:
    for number in range(route._MAX_CACHED + 10):
        assert route_of(Target("function", f'{{"name":"f{number}"}}')) == f"function:f{number}"
    assert len(route._routes) <= route._MAX_CACHED


def test_a_name_that_no_function_can_have_is_cut() -> None:
    """Where an entry waits is indexed by every store: a name of any length would keep all that is due from being claimed."""
    assert route_of(Target("function", json.dumps({"name": "g" * 5_000}))) == function_route("g" * 200)


def test_half_a_character_is_none_that_a_store_could_keep() -> None:
    assert route_of(Target("function", '{"name":"g\\ud800"}')) == "function:g?"
