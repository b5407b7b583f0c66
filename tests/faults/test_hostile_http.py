"""Hostile HTTP endpoints: oversized, slow, silent or malformed answers, and redirects to forbidden addresses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

import pytest

from tests.faults.hostile_harness import (
    GROWTH_MEGABYTES,
    ORPHAN_SECONDS,
    Case,
    HostileHarness,
    Window,
    find_differences,
    harness,
)
from tests.faults.hostile_node import ALLOWED, FORBIDDEN, MIXED, TURNS
from tests.faults.hostile_server import Server, server
from tests.faults.scenario import Measure
from tests.faults.testbed import wait_until


class Expected(NamedTuple):
    """Expected end of a call to a path."""

    path: str
    state: str
    reason: str | None
    contains: str = ""
    host: str = ALLOWED
    name: str = ""

    def case(self, port: int) -> Case:
        target: dict[str, Any] = {"kind": "http", "method": "GET", "url": f"http://{self.host}:{port}/{self.path}"}
        target["redirects"] = 3 if self.path == "inward" else 0
        timeout = 1.0 if self.state == "timed_out" else 30.0
        return Case(self.name or self.path, target, self.state, self.reason, self.contains, timeout)


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


class Results(NamedTuple):
    harness: HostileHarness
    window: Window
    allowed: Server
    forbidden: Server


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    with ExitStack() as stack:
        forbidden = stack.enter_context(server(FORBIDDEN))
        allowed = stack.enter_context(server(ALLOWED, f"http://{FORBIDDEN}:{forbidden.port}/fine"))
        made = stack.enter_context(harness(tmp_path_factory.mktemp("http")))
        began = made.run_cases([FIRST.case(allowed.port)]).first
        # The address is not cached: the name now resolves to the other server.
        made.run_cases([SECOND.case(forbidden.port)])
        ended = made.run_cases([each.case(allowed.port) for each in ANSWERS]).last
        yield Results(made, Window(began, ended), allowed, forbidden)


@pytest.mark.parametrize("expected", [FIRST, SECOND, *ANSWERS], ids=lambda each: each.name or each.path)
def test_case_ends_in_expected_state(results: Results, expected: Expected) -> None:
    case = expected.case(0)
    assert find_differences(case, results.harness.ends()[case.name]) == []


def test_forbidden_address_receives_no_connection(results: Results) -> None:
    assert results.forbidden.accepted == 0
    assert results.allowed.accepted == len(
        ANSWERS
    )  # all but the mixed name; the rebinding name connected once, before it changed


def test_neighbour_tasks_run_once_and_on_time(results: Results, measured: Measure) -> None:
    measured("hostile endpoints, neighbours' worst lateness", results.harness.latest_start(results.window))
    assert results.harness.find_disturbances(results.window) == []


def test_no_connection_is_left(results: Results) -> None:
    wait_until(lambda: results.allowed.connected == 0, ORPHAN_SECONDS, "all connections gone")
    assert results.harness.find_leftovers() == []


def test_node_memory_stays_bounded_and_node_stops_cleanly(results: Results, measured: Measure) -> None:
    memory_growth = results.harness.memory_growth()
    measured("hostile endpoints, node grown by MB", memory_growth.resident)
    measured("hostile endpoints, node grown at most by MB", memory_growth.peak)
    assert memory_growth.peak <= GROWTH_MEGABYTES
    results.harness.node.stop()
