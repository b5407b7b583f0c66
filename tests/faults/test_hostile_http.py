"""Endpoints that answer too much, too slowly, not at all, with nonsense, or lead where nobody may go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

import pytest

from tests.faults.hostile_node import ALLOWED, FORBIDDEN, MIXED, TURNS
from tests.faults.hostile_scene import GROWTH_MEGABYTES, ORPHAN_SECONDS, Case, Stage, Window, differs, stage
from tests.faults.hostile_server import Server, server
from tests.faults.place import until
from tests.faults.scene import Measure


class Expected(NamedTuple):
    """How the call of a path ends."""

    path: str
    state: str
    reason: str | None
    says: str = ""
    host: str = ALLOWED
    name: str = ""

    def case(self, port: int) -> Case:
        target: dict[str, Any] = {"kind": "http", "method": "GET", "url": f"http://{self.host}:{port}/{self.path}"}
        target["redirects"] = 3 if self.path == "inward" else 0
        timeout = 1.0 if self.state == "timed_out" else 30.0
        return Case(self.name or self.path, target, self.state, self.reason, self.says, timeout)


ANSWERS: Final = (
    Expected("bomb", "succeeded", None, '"truncated":true'),
    Expected("endless", "succeeded", None, '"truncated":true'),
    Expected("endless-chunks", "succeeded", None, '"truncated":true'),
    Expected("endless-extension", "timed_out", "deadline"),
    Expected("endless-hints", "timed_out", "deadline"),
    Expected("slow-head", "timed_out", "deadline"),
    Expected("slow-body", "timed_out", "deadline"),
    Expected("silent", "timed_out", "deadline"),
    Expected("one-long-header", "failed", "no_answer", "too long"),
    Expected("many-headers", "failed", "no_answer", "too long"),
    Expected("garbage", "failed", "no_answer", "not HTTP"),
    Expected("reset", "failed", "no_answer", "ended the connection"),
    Expected("inward", "failed", "target_failed"),
    Expected("fine", "failed", "target_not_allowed", "public", MIXED, "a name with a forbidden address among others"),
)
FIRST: Final = Expected("fine", "succeeded", None, "fine", TURNS, "a name before it turns")
SECOND: Final = Expected("fine", "failed", "target_not_allowed", "public", TURNS, "a name after it has turned")


class Played(NamedTuple):
    stage: Stage
    window: Window
    allowed: Server
    forbidden: Server


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with ExitStack() as stack:
        forbidden = stack.enter_context(server(FORBIDDEN))
        allowed = stack.enter_context(server(ALLOWED, f"http://{FORBIDDEN}:{forbidden.port}/fine"))
        made = stack.enter_context(stage(tmp_path_factory.mktemp("http")))
        began = made.play([FIRST.case(allowed.port)]).first
        # What the name meant is not remembered: now it means the other server.
        made.play([SECOND.case(forbidden.port)])
        ended = made.play([each.case(allowed.port) for each in ANSWERS]).last
        yield Played(made, Window(began, ended), allowed, forbidden)


@pytest.mark.parametrize("expected", [FIRST, SECOND, *ANSWERS], ids=lambda each: each.name or each.path)
def test_each_ends_as_it_should(played: Played, expected: Expected) -> None:
    case = expected.case(0)
    assert differs(case, played.stage.ends()[case.name]) == []


def test_nobody_came_where_nobody_may_go(played: Played) -> None:
    assert played.forbidden.came == 0
    assert played.allowed.came == len(ANSWERS)  # all but the mixed name, and the one that had not turned yet


def test_neighbours_run_on_time_each_once(played: Played, measured: Measure) -> None:
    measured("hostile endpoints, neighbours' worst lateness", played.stage.latest_start(played.window))
    assert played.stage.disturbed(played.window) == []


def test_no_connection_is_left(played: Played) -> None:
    until(lambda: played.allowed.here == 0, ORPHAN_SECONDS, "all connections gone")
    assert played.stage.left_behind() == []


def test_the_node_never_holds_what_they_send_and_ends_in_good_order(played: Played, measured: Measure) -> None:
    grown = played.stage.grown()
    measured("hostile endpoints, node grown by MB", grown.resident)
    measured("hostile endpoints, node grown at most by MB", grown.peak)
    assert grown.peak <= GROWTH_MEGABYTES
    played.stage.node.end()
