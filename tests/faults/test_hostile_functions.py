"""Hostile functions: the node survives what they raise, return, hold and kill, and neighbour tasks run on time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest

from horae.model.limits import LOG_LINES
from tests.faults import hostile_functions as hostile
from tests.faults.hostile_functions import BLOCKED_SECONDS, PLACES, Where, name_of
from tests.faults.hostile_harness import (
    GROWTH_MEGABYTES,
    LATE_SECONDS,
    PATIENCE,
    Case,
    HostileHarness,
    Window,
    find_differences,
    harness,
)
from tests.faults.scenario import Measure
from tests.faults.store_snapshot import query
from tests.faults.testbed import wait_until


def failing(function: Callable[..., Any], contains: str, *places: Where) -> list[Case]:
    return [_case(function, where, "failed", "target_failed", contains) for where in places or PLACES]


def succeeding(function: Callable[..., Any], contains: str, *places: Where) -> list[Case]:
    return [_case(function, where, "succeeded", None, contains) for where in places or PLACES]


def endless(function: Callable[..., Any], where: Where, *, settles: bool = True) -> Case:
    # An isolated process may start late on a busy machine, and the deadline counts from the claim.
    seconds = 6.0 if where == "process" else 1.0
    return _case(function, where, "timed_out", "deadline", "")._replace(timeout=seconds, settles=settles)


def _case(function: Callable[..., Any], where: Where, state: str, reason: str | None, contains: str) -> Case:
    name = name_of(function, where)
    return Case(name, name, state, reason, contains)


STAYING: Final = endless(hostile.stays_until_the_gate_opens, "thread", settles=False)
_ALL: Final = (
    *failing(hostile.raises_system_exit, "SystemExit: 3"),
    *failing(hostile.raises_keyboard_interrupt, "KeyboardInterrupt"),
    *failing(hostile.raises_generator_exit, "GeneratorExit"),
    *failing(hostile.raises_cancelled_error, "CancelledError"),
    *failing(hostile.raises_base_exception, "neither this nor that"),
    *failing(hostile.raises_long_message, "ValueError: xxx"),
    *failing(hostile.raises_unprintable_error, "MuteError"),
    *failing(hostile.raises_group, "one"),
    *failing(hostile.retries_with_unprintable_reason, ""),
    *failing(hostile.retries_with_interrupting_reason, ""),
    *succeeding(hostile.returns_a_long_text, "xxx"),
    *succeeding(hostile.returns_a_long_list, "xxx"),
    *succeeding(hostile.returns_itself, "RecursionError"),
    *succeeding(hostile.returns_unprintable_value, "Unspeakable"),
    *succeeding(hostile.returns_interrupting_value, "Unspeakable"),
    *succeeding(hostile.returns_value_raising_base_exception, "Unspeakable"),
    *succeeding(hostile.floods_its_log, ""),
    endless(hostile.awaits_for_ever, "loop"),
    endless(hostile.ignores_cancellation, "loop"),
    STAYING,
    endless(hostile.spins, "process"),
    endless(hostile.spins_ignoring_sigterm, "process"),
    *succeeding(hostile.forks_children_ignoring_sigterm, "", "process"),
    endless(hostile.forks_children_and_spins, "process"),
    *failing(hostile.exits_process, "code 3", "process"),
    *failing(hostile.kills_itself, "SIGKILL", "process"),
    *failing(hostile.segfaults, "SIGSEGV", "process"),
    *failing(hostile.overflows_the_stack, "SIGSEGV", "process"),
    *succeeding(hostile.fills_its_output, "", "process"),
)
CASES: Final = {where: [case for case in _ALL if case.name.endswith(f"({where})")] for where in PLACES}
BLOCKING: Final = succeeding(hostile.blocks_the_loop, "", "loop")
_LIVE: Final = "SELECT tasks.name FROM runs JOIN tasks ON tasks.seq = runs.task WHERE runs.live = 1"


class Results(NamedTuple):
    harness: HostileHarness
    windows: dict[Where, Window]
    blocked: Window
    still_there: list[str]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """Run all cases of each place at once on one node; then the case that blocks the loop."""
    still_there: list[str] = []
    with harness(tmp_path_factory.mktemp("functions")) as made:

        def release_thread() -> None:
            wait_until(made.testbed.gate("cancelled").exists, PATIENCE, "its deadline")
            still_there.extend(name for (name,) in query(made.testbed, _LIVE))
            made.testbed.open_gate("thread")

        loop = made.run_cases(CASES["loop"])
        thread = made.run_cases(CASES["thread"], release_thread)
        # A node has eight isolated processes: endless cases must start before they time out.
        endless_ones = [case for case in CASES["process"] if case.state == "timed_out"]
        others = [case for case in CASES["process"] if case not in endless_ones]
        process = Window(made.run_cases(endless_ones).first, made.run_cases(others).last)
        yield Results(made, {"loop": loop, "thread": thread, "process": process}, made.run_cases(BLOCKING), still_there)


@pytest.mark.parametrize("case", [*_ALL, *BLOCKING], ids=lambda case: case.name)
def test_case_ends_in_expected_state(results: Results, case: Case) -> None:
    assert find_differences(case, results.harness.ends()[case.name]) == []


def test_timed_out_cases_had_started(results: Results) -> None:
    """A case that only waited in the queue would also time out."""
    started = {path.name.removeprefix("began-") for path in results.harness.testbed.folder.glob("began-*")}
    assert {case.name.partition(" ")[0] for case in _ALL if case.state == "timed_out"} <= started


def test_thread_that_ignores_cancellation_stays_live_until_it_returns(results: Results) -> None:
    assert STAYING.name in results.still_there


def test_log_lines_above_the_limit_are_dropped_with_a_notice(results: Results) -> None:
    for where in PLACES:
        (end,) = results.harness.ends()[name_of(hostile.floods_its_log, where)]
        assert end.lines == LOG_LINES + 1


@pytest.mark.parametrize("where", PLACES)
def test_neighbour_tasks_run_once_and_on_time(results: Results, where: Where, measured: Measure) -> None:
    window = results.windows[where]
    measured(f"hostile functions ({where}), neighbours' worst lateness", results.harness.latest_start(window))
    assert results.harness.find_disturbances(window) == []


def test_blocked_event_loop_delays_neighbours_only_while_blocked(results: Results, measured: Measure) -> None:
    """The lease is shorter than the block and is not lost: nothing ran twice."""
    measured("a loop blocked for 3 s, neighbours' worst lateness", results.harness.latest_start(results.blocked))
    assert results.harness.find_disturbances(results.blocked, BLOCKED_SECONDS + LATE_SECONDS) == []


def test_no_process_file_or_socket_is_left(results: Results) -> None:
    assert results.harness.find_leftovers() == []


def test_node_memory_does_not_grow_and_node_stops_cleanly(results: Results, measured: Measure) -> None:
    memory_growth = results.harness.memory_growth()
    measured("hostile functions, node grown by MB", memory_growth.resident)
    measured("hostile functions, node grown at most by MB", memory_growth.peak)
    assert memory_growth.resident <= GROWTH_MEGABYTES
    results.harness.node.stop()
