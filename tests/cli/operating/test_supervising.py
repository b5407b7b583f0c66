"""The supervisor with the smallest workers there are: what it does when they die, refuse, or are asked to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from horae.cli.output.outage_summary import OutageSummary, count_occurrences
from horae.clock import Clock, SystemClock
from horae.model.ids import from_microseconds
from horae.model.reason import Reason
from horae.model.run import Origin, Run, RunState, Span
from horae.node.supervisor import DRAINED, ChildExit, Supervisor

DIES = "import os, sys; os.write(int(sys.argv[1]), b'ready'); os._exit(1)"
DRAINED_ONE = f"import os, sys; os.write(int(sys.argv[1]), b'ready'); os._exit({DRAINED})"
REFUSES = "raise SystemExit(6)"
OBEYS = "import os, signal, sys; os.write(int(sys.argv[1]), b'ready'); signal.pause()"


class Centuries(SystemClock):
    """Whatever is measured with it took long."""

    def __init__(self) -> None:
        self._looks = 0

    def steady(self) -> float:
        self._looks += 1
        return super().steady() + 100 * self._looks


def supervised(
    script: str, *, deaths: int = 0, clock: Clock | None = None, seconds: float | None = None
) -> tuple[int, list[ChildExit]]:
    """Run until so many have died; the exit code, and how they did."""
    seen: list[ChildExit] = []

    def on_exit(death: ChildExit) -> None:
        seen.append(death)
        if len(seen) == deaths:
            os.kill(os.getpid(), signal.SIGTERM)

    async def run() -> int:
        return await Supervisor(command(script), on_exit, clock or SystemClock()).run(seconds)

    return asyncio.run(run()), seen


def command(script: str) -> Callable[[int, int], list[str]]:
    return lambda line, _number: [sys.executable, "-c", script, str(line)]


def test_who_dies_again_and_again_is_waited_for_longer_and_longer() -> None:
    code, deaths = supervised(DIES, deaths=4)
    assert code == 0
    assert [death.pause for death in deaths] == [0.2, 0.4, 0.8, 1.6]
    assert {death.code for death in deaths} == {1}


def test_after_a_time_of_health_it_is_quick_again() -> None:
    _, deaths = supervised(DIES, deaths=3, clock=Centuries())
    assert [death.pause for death in deaths] == [0.2, 0.2, 0.2]


def test_who_refuses_to_begin_is_not_begun_again() -> None:
    assert supervised(REFUSES) == (6, [])


def test_who_was_drained_is_not_begun_again() -> None:
    assert supervised(DRAINED_ONE) == (0, [])


def test_who_says_so_without_ever_having_been_ready_has_refused_to_begin() -> None:
    assert supervised(f"raise SystemExit({DRAINED})") == (DRAINED, [])


def test_it_ends_when_its_time_is_up_and_the_worker_with_it() -> None:
    assert supervised(OBEYS, seconds=0.1) == (0, [])


def test_each_occurrence_of_a_gap_is_counted_once_and_a_stretch_as_often_as_it_stands_for() -> None:
    def row(number: int, state: RunState, attempt: int = 1, reason: Reason | None = None, count: int = 1) -> Run:
        at = from_microseconds(number)
        span = Span(from_microseconds(0), at, count) if count > 1 else None
        name = f"run_{number}_{attempt}"
        return Run(name, "tsk", "local", Origin.SCHEDULED, at, at, attempt, state, reason, span=span)

    rows = [
        row(1, RunState.FAILED, 1),
        row(1, RunState.SUCCEEDED, 2),
        row(2, RunState.SKIPPED, reason=Reason.MERGED, count=5),
        row(3, RunState.SKIPPED, reason=Reason.STALE, count=7),
        row(4, RunState.SUCCEEDED, count=3),
        row(5, RunState.SUCCEEDED)._replace(origin=Origin.MANUAL),
    ]
    assert count_occurrences(rows) == OutageSummary(made_up=4, merged=5, skipped=7)
    assert count_occurrences(rows).due == 16


LOSES_ITS_STORE = "import os, sys; os.write(int(sys.argv[1]), b'ready'); os._exit(7)"


def test_who_has_lost_its_store_is_not_begun_again() -> None:
    assert supervised(LOSES_ITS_STORE, deaths=3) == (7, [])
