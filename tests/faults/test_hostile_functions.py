"""Functions that raise, return, hold on to and kill what they can: the node and those beside them go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest

from tests.faults import hostile_functions as hostile
from tests.faults.evidence import query
from tests.faults.hostile_functions import BLOCKED_SECONDS, PLACES, Where, name_of
from tests.faults.hostile_scene import GROWTH_MEGABYTES, LATE_SECONDS, PATIENCE, Case, Stage, Window, differs, stage
from tests.faults.place import until
from tests.faults.scene import Measure


def failing(function: Callable[..., Any], says: str, *places: Where) -> list[Case]:
    return [_case(function, where, "failed", "target_failed", says) for where in places or PLACES]


def succeeding(function: Callable[..., Any], says: str, *places: Where) -> list[Case]:
    return [_case(function, where, "succeeded", None, says) for where in places or PLACES]


def endless(function: Callable[..., Any], where: Where, *, settles: bool = True) -> Case:
    # A process may take its time to start on a busy machine: silence counts from the claim on.
    seconds = 6.0 if where == "process" else 1.0
    return _case(function, where, "timed_out", "deadline", "")._replace(timeout=seconds, settles=settles)


def _case(function: Callable[..., Any], where: Where, state: str, reason: str | None, says: str) -> Case:
    name = name_of(function, where)
    return Case(name, name, state, reason, says)


STAYING: Final = endless(hostile.stays_until_the_gate_opens, "thread", settles=False)
_ALL: Final = (
    *failing(hostile.exits, "SystemExit: 3"),
    *failing(hostile.interrupts, "KeyboardInterrupt"),
    *failing(hostile.closes, "GeneratorExit"),
    *failing(hostile.cancels_itself, "CancelledError"),
    *failing(hostile.is_unusual, "neither this nor that"),
    *failing(hostile.says_too_much, "ValueError: xxx"),
    *failing(hostile.says_nothing, "MuteError"),
    *failing(hostile.groups, "one"),
    *failing(hostile.asks_again_for_no_reason, ""),
    *failing(hostile.asks_again_with_a_bang, ""),
    *succeeding(hostile.returns_a_long_text, "xxx"),
    *succeeding(hostile.returns_a_long_list, "xxx"),
    *succeeding(hostile.returns_itself, "RecursionError"),
    *succeeding(hostile.returns_what_has_no_words, "Unspeakable"),
    *succeeding(hostile.returns_a_trap, "Unspeakable"),
    *succeeding(hostile.returns_an_unusual_trap, "Unspeakable"),
    *succeeding(hostile.floods_its_log, ""),
    endless(hostile.awaits_for_ever, "loop"),
    endless(hostile.will_not_be_cancelled, "loop"),
    STAYING,
    endless(hostile.spins, "process"),
    endless(hostile.spins_and_is_deaf, "process"),
    *succeeding(hostile.has_deaf_children, "", "process"),
    endless(hostile.has_deaf_children_and_stays, "process"),
    *failing(hostile.leaves_at_once, "code 3", "process"),
    *failing(hostile.kills_itself, "SIGKILL", "process"),
    *failing(hostile.breaks_memory, "SIGSEGV", "process"),
    *failing(hostile.overflows_the_stack, "SIGSEGV", "process"),
    *succeeding(hostile.fills_its_output, "", "process"),
)
CASES: Final = {where: [case for case in _ALL if case.name.endswith(f"({where})")] for where in PLACES}
BLOCKING: Final = succeeding(hostile.blocks_the_loop, "", "loop")
_LIVE: Final = "SELECT tasks.name FROM runs JOIN tasks ON tasks.seq = runs.task WHERE runs.live = 1"


class Played(NamedTuple):
    stage: Stage
    windows: dict[Where, Window]
    blocked: Window
    still_there: list[str]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """On one node, all of a place at once; then the one that stops the loop, for which neighbours have to wait."""
    still_there: list[str] = []
    with stage(tmp_path_factory.mktemp("functions")) as made:

        def let_go() -> None:
            until(made.place.gate("asked").exists, PATIENCE, "its deadline")
            still_there.extend(name for (name,) in query(made.place, _LIVE))
            made.place.open_gate("thread")

        loop = made.play(CASES["loop"])
        thread = made.play(CASES["thread"], let_go)
        # A node has eight processes at once: those that do not end must not be timed out before they begin.
        endless_ones = [case for case in CASES["process"] if case.state == "timed_out"]
        others = [case for case in CASES["process"] if case not in endless_ones]
        process = Window(made.play(endless_ones).first, made.play(others).last)
        yield Played(made, {"loop": loop, "thread": thread, "process": process}, made.play(BLOCKING), still_there)


@pytest.mark.parametrize("case", [*_ALL, *BLOCKING], ids=lambda case: case.name)
def test_each_ends_as_it_should(played: Played, case: Case) -> None:
    assert differs(case, played.stage.ends()[case.name]) == []


def test_each_that_ran_out_of_time_had_begun(played: Played) -> None:
    """One that only waited for its turn would end in the same way."""
    begun = {path.name.removeprefix("began-") for path in played.stage.place.folder.glob("began-*")}
    assert {case.name.partition(" ")[0] for case in _ALL if case.state == "timed_out"} <= begun


def test_a_thread_that_does_not_listen_keeps_its_run_until_it_ends(played: Played) -> None:
    assert STAYING.name in played.still_there


def test_a_flood_of_lines_is_cut_and_says_so(played: Played) -> None:
    for where in PLACES:
        (end,) = played.stage.ends()[name_of(hostile.floods_its_log, where)]
        assert end.lines == 1_001


@pytest.mark.parametrize("where", PLACES)
def test_neighbours_run_on_time_each_once(played: Played, where: Where, measured: Measure) -> None:
    window = played.windows[where]
    measured(f"hostile functions ({where}), neighbours' worst lateness", played.stage.latest_start(window))
    assert played.stage.disturbed(window) == []


def test_behind_a_blocked_loop_neighbours_wait_no_longer_than_it_is_blocked(played: Played, measured: Measure) -> None:
    """The lease is shorter than that, and is not lost: nothing was run twice."""
    measured("a loop blocked for 3 s, neighbours' worst lateness", played.stage.latest_start(played.blocked))
    assert played.stage.disturbed(played.blocked, BLOCKED_SECONDS + LATE_SECONDS) == []


def test_nothing_is_left_behind(played: Played) -> None:
    assert played.stage.left_behind() == []


def test_the_node_is_no_larger_than_before_and_ends_in_good_order(played: Played, measured: Measure) -> None:
    grown = played.stage.grown()
    measured("hostile functions, node grown by MB", grown.resident)
    measured("hostile functions, node grown at most by MB", grown.peak)
    assert grown.resident <= GROWTH_MEGABYTES
    played.stage.node.end()
