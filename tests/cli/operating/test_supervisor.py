"""Supervisor with minimal workers: restarts, refusals to start, and stop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from horae.clock import Clock, SystemClock
from horae.model.ids import from_microseconds
from horae.model.reason import Reason
from horae.model.run import Origin, Run, RunState, Span
from horae.node.supervisor import DRAINED, ChildExit, Supervisor
from horae.service.runs.outage_reviews import OutageSummary, count_occurrences

DIES = "import os, sys; os.write(int(sys.argv[1]), b'ready'); os._exit(1)"
DRAINED_ONE = f"import os, sys; os.write(int(sys.argv[1]), b'ready'); os._exit({DRAINED})"
REFUSES = "raise SystemExit(6)"
OBEYS = "import os, signal, sys; os.write(int(sys.argv[1]), b'ready'); signal.pause()"


class SlowClock(SystemClock):
    """Clock on which every measured time is long."""

    def __init__(self) -> None:
        self._looks = 0

    def steady(self) -> float:
        self._looks += 1
        return super().steady() + 100 * self._looks


def run_supervisor(
    script: str, *, deaths: int = 0, clock: Clock | None = None, seconds: float | None = None
) -> tuple[int, list[ChildExit]]:
    """Run the supervisor until `deaths` workers have died; return its exit code and their exits."""
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


def test_restart_delay_grows_with_repeated_deaths() -> None:
    code, deaths = run_supervisor(DIES, deaths=4)
    assert code == 0
    assert [death.pause for death in deaths] == [0.2, 0.4, 0.8, 1.6]
    assert {death.code for death in deaths} == {1}


def test_restart_delay_resets_after_a_healthy_time() -> None:
    _, deaths = run_supervisor(DIES, deaths=3, clock=SlowClock())
    assert [death.pause for death in deaths] == [0.2, 0.2, 0.2]


def test_worker_that_refuses_to_start_is_not_restarted() -> None:
    assert run_supervisor(REFUSES) == (6, [])


def test_drained_worker_is_not_restarted() -> None:
    assert run_supervisor(DRAINED_ONE) == (0, [])


def test_drained_exit_before_ready_is_a_refusal() -> None:
    assert run_supervisor(f"raise SystemExit({DRAINED})") == (DRAINED, [])


def test_supervisor_stops_its_worker_when_the_time_is_up() -> None:
    assert run_supervisor(OBEYS, seconds=0.1) == (0, [])


def test_outage_summary_counts_each_occurrence_once() -> None:
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


def test_worker_that_lost_its_store_is_not_restarted() -> None:
    assert run_supervisor(LOSES_ITS_STORE, deaths=3) == (7, [])
