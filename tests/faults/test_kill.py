"""kill -9 at exact points of a run (F1 to F5): nothing is lost, and only an interrupted run is repeated."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

import pytest

from tests.faults.client import RUN_EVERY_INSTANT, TaskRequest, add, call_app, from_now
from tests.faults.oracle import Series
from tests.faults.processes import Workers, is_alive
from tests.faults.scenario import (
    SUCCESSORS,
    TIMEOUT,
    Failover,
    Measure,
    Successor,
    has_marks,
    has_second_attempt,
    marks,
    one_shot,
    violations,
)
from tests.faults.store_snapshot import read_entries, read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import LEASE

SECOND: Final = timedelta(seconds=1)
BACK_SECONDS: Final = LEASE + 2
"""The lease plus two seconds: a lost run has started again by then."""


def test_f1_kill_before_claim_with_one_node(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    due = add(testbed, one_shot())
    worker = workers.ready(point="claiming")
    worker.expect("at claiming")
    worker.kill()
    assert not read_snapshot(testbed).rows
    workers.ready()
    measured("F1 one node, from its restart to the effect", wait_until(has_marks(testbed, "effect"), 5, "the effect"))
    wait_until_quiet(testbed, due[0].instants[-1], TIMEOUT)
    assert violations(testbed, *due) == []
    assert len(marks(testbed, "effect")) == 1


def test_f1_kill_before_claim_with_a_peer(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    first = workers.ready(point="claiming")
    workers.ready()
    series = Series(from_now(1), timedelta(milliseconds=200), 20)
    due = add(testbed, TaskRequest("note", series, options=RUN_EVERY_INSTANT))
    first.expect("at claiming")
    first.kill()
    before = len(marks(testbed, "effect"))
    back = wait_until(has_marks(testbed, "effect", before + 1), 2, "the peer's next effect")
    measured("F1 a peer, from the kill to the next effect", back)
    wait_until_quiet(testbed, series.last, TIMEOUT)
    assert violations(testbed, *due) == []
    assert len(marks(testbed, "effect")) == len(due[0].instants)


@pytest.mark.parametrize("successor", SUCCESSORS)
def test_f2_kill_between_claim_and_start(
    testbed: Testbed, workers: Workers, measured: Measure, successor: Successor
) -> None:
    due = add(testbed, one_shot())
    failover = Failover(workers, successor)
    worker = failover.start_first(point="claimed")
    worker.expect("at claimed")
    assert not marks(testbed, "start")
    failover.kill(worker)
    measured(f"F2 {successor}, to the start", wait_until(has_marks(testbed, "start"), BACK_SECONDS, "the start"))
    wait_until_quiet(testbed, due[0].instants[-1], TIMEOUT)
    assert violations(testbed, *due) == []
    assert [mark.attempt for mark in marks(testbed, "effect")] == [2]


@pytest.mark.parametrize(
    ("function", "successor"),
    [("awaited", "restart"), ("held", "peer"), ("apart", "restart"), ("apart", "peer"), ("apart", "stranger")],
)
def test_f3_kill_during_run(
    testbed: Testbed, workers: Workers, measured: Measure, function: str, successor: Successor
) -> None:
    due = add(testbed, one_shot(function, {"gate": "done"}))
    failover = Failover(workers, successor)
    worker = failover.start_first()
    wait_until(has_marks(testbed, "start"), TIMEOUT, "the start")
    failover.kill(worker)
    back = wait_until(lambda: has_second_attempt(testbed), BACK_SECONDS, "another attempt")
    measured(f"F3 {function}, {successor}, to the next attempt", back)
    wait_until(has_marks(testbed, "start", 2), TIMEOUT, "its start")
    testbed.open_gate("done")
    wait_until_quiet(testbed, due[0].instants[-1], TIMEOUT)
    assert violations(testbed, *due) == []
    assert [mark.attempt for mark in marks(testbed, "start")] == [1, 2]


def test_f3_child_process_ends_with_its_node(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    due = add(testbed, one_shot("apart", {"gate": "done"}))
    worker = workers.ready()
    wait_until(has_marks(testbed, "start"), TIMEOUT, "the start")
    (orphan,) = {mark.pid for mark in marks(testbed, "start")}
    assert orphan != worker.pid
    assert is_alive(orphan)
    worker.kill()
    measured("F3 an orphan, to its death", wait_until(lambda: not is_alive(orphan), 5, "the orphan's death"))
    testbed.open_gate("done")
    workers.ready()
    wait_until(has_marks(testbed, "end"), TIMEOUT, "the end")
    wait_until_quiet(testbed, due[0].instants[-1], TIMEOUT)
    assert violations(testbed, *due) == []
    assert [mark.attempt for mark in marks(testbed, "effect")] == [2]


@pytest.mark.parametrize("successor", SUCCESSORS)
def test_f4_kill_between_effect_and_settlement(
    testbed: Testbed, workers: Workers, measured: Measure, successor: Successor
) -> None:
    due = add(testbed, one_shot())
    failover = Failover(workers, successor)
    worker = failover.start_first(point="settling")
    worker.expect("at settling")
    assert len(marks(testbed, "effect")) == 1
    failover.kill(worker)
    measured(
        f"F4 {successor}, to the repetition",
        wait_until(has_marks(testbed, "effect", 2), BACK_SECONDS, "the repetition"),
    )
    wait_until_quiet(testbed, due[0].instants[-1], TIMEOUT)
    assert violations(testbed, *due) == []
    assert [mark.attempt for mark in marks(testbed, "effect")] == [1, 2]


@pytest.mark.parametrize(
    ("point", "attempts", "state"),
    [("starting", [2], "succeeded"), ("started", [], "lost"), ("settling", [1], "lost")],
)
def test_f4_at_most_once_run_is_not_repeated_after_its_start(
    testbed: Testbed, workers: Workers, point: str, attempts: list[int], state: str
) -> None:
    """Only a run that provably never started is tried again; any other is lost, with at most one effect."""
    due = add(testbed, one_shot(guarantee="at_most_once"))
    worker = workers.ready(point=point)
    worker.expect(f"at {point}")
    worker.kill()
    workers.ready()
    wait_until_quiet(testbed, due[0].instants[-1], TIMEOUT)
    assert violations(testbed, *due) == []
    assert [mark.attempt for mark in marks(testbed, "effect")] == attempts
    assert read_snapshot(testbed).rows[-1].state == state


@pytest.mark.parametrize("point", ["claimed", "settling", "settled"])
def test_f5_run_and_next_occurrence_commit_together(testbed: Testbed, workers: Workers, point: str) -> None:
    """Killed before or after the commit, the run and its next occurrence are both there or both absent."""
    handle = call_app(testbed, lambda app: app.schedule("note", "every 1s after end"))
    worker = workers.ready(point=point)
    worker.expect(f"at {point}")
    worker.kill()
    (latest,) = read_snapshot(testbed).rows
    if point == "settled":
        assert latest.state == "succeeded"
        assert latest.ended is not None
        assert _next_planned(testbed) == latest.ended + SECOND
    else:
        assert (latest.state, _next_planned(testbed)) == ("running", None)
    workers.ready()
    wait_until(has_marks(testbed, "end", 4), TIMEOUT, "four ends")
    call_app(testbed, lambda app: app.service.tasks.cancel(app.who, handle.id))
    wait_until_quiet(testbed, from_now(0), TIMEOUT)
    occurrences = list({row.planned: row for row in read_snapshot(testbed).rows}.items())
    for (_, before), (planned, _) in pairwise(occurrences):
        assert before.ended is not None
        assert planned == before.ended + SECOND


def _next_planned(testbed: Testbed) -> datetime | None:
    return next((planned for _, slot, planned in read_entries(testbed) if slot == "next"), None)


def test_f5_claim_writes_the_next_occurrence(testbed: Testbed, workers: Workers) -> None:
    worker = workers.ready(point="claimed")
    series = Series(from_now(1), SECOND, 8)
    due = add(testbed, TaskRequest("note", series, options=RUN_EVERY_INSTANT))
    worker.expect("at claimed")
    worker.kill()
    (run,) = read_snapshot(testbed).rows
    assert run.claimed is not None
    assert _next_planned(testbed) == min(instant for instant in due[0].instants if instant > run.claimed)
    workers.ready()
    wait_until_quiet(testbed, series.last, TIMEOUT)
    assert violations(testbed, *due) == []
