"""Routes: one per function, one per other target kind, none for an unreadable spec."""

from __future__ import annotations

import json

import pytest

from horae.model.lanes import route
from horae.model.lanes.lane import owner_lane
from horae.model.lanes.route import function_route, is_route, kind_route, route_of
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
def test_every_target_has_a_route(target: Target, door: str) -> None:
    assert route_of(target) == door
    assert route_of(target) == door, "the same when it is asked again"
    assert is_route(door)


def test_function_named_like_a_kind_has_its_own_route() -> None:
    assert function_route("http") != kind_route("http")


@pytest.mark.parametrize("lane", [None, "", "press", owner_lane("ada"), "targets", "functions", "function", "a:b"])
def test_lane_name_is_no_route(lane: str | None) -> None:
    assert not is_route(lane)


def test_route_cache_is_bounded() -> None:
    for number in range(route._MAX_CACHED + 10):
        assert route_of(Target("function", f'{{"name":"f{number}"}}')) == f"function:f{number}"
    assert len(route._routes) <= route._MAX_CACHED


def test_long_function_name_is_truncated_in_the_route() -> None:
    """Where an entry waits is indexed by every store: a name of any length would keep all that is due from being claimed."""
    assert route_of(Target("function", json.dumps({"name": "g" * 5_000}))) == function_route("g" * 200)


def test_lone_surrogate_is_replaced_in_the_route() -> None:
    assert route_of(Target("function", '{"name":"g\\ud800"}')) == "function:g?"
