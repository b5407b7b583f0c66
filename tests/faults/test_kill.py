"""kill -9 at exact points of a run's life (F1 to F5): nothing is lost, and nothing happens twice that need not."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

import pytest

from tests.faults.client import EVERYTHING, Wanted, add, ask, soon
from tests.faults.evidence import gather, instant, query, until_quiet
from tests.faults.oracle import Series
from tests.faults.orders import LEASE
from tests.faults.place import Place, until
from tests.faults.processes import Workers, is_alive
from tests.faults.scene import LONG, SUCCESSORS, Death, Measure, Successor, again, has, judged, marks, one

SECOND: Final = timedelta(seconds=1)
BACK_SECONDS: Final = LEASE + 2
"""The lease, and two seconds: by then a run that was lost has begun again."""


def test_f1_killed_before_the_claim_one_node(place: Place, workers: Workers, measured: Measure) -> None:
    due = add(place, one())
    worker = workers.ready(point="claiming")
    worker.expect("at claiming")
    worker.kill()
    assert not gather(place).rows
    workers.ready()
    measured("F1 one node, from its restart to the effect", until(has(place, "effect"), 5, "the effect"))
    until_quiet(place, due[0].instants[-1], LONG)
    assert judged(place, *due) == []
    assert len(marks(place, "effect")) == 1


def test_f1_killed_before_the_claim_beside_a_peer(place: Place, workers: Workers, measured: Measure) -> None:
    first = workers.ready(point="claiming")
    workers.ready()
    series = Series(soon(1), timedelta(milliseconds=200), 20)
    due = add(place, Wanted("note", series, options=EVERYTHING))
    first.expect("at claiming")
    first.kill()
    before = len(marks(place, "effect"))
    back = until(has(place, "effect", before + 1), 2, "the peer's next effect")
    measured("F1 a peer, from the kill to the next effect", back)
    until_quiet(place, series.last, LONG)
    assert judged(place, *due) == []
    assert len(marks(place, "effect")) == len(due[0].instants)


@pytest.mark.parametrize("successor", SUCCESSORS)
def test_f2_killed_between_claim_and_start(
    place: Place, workers: Workers, measured: Measure, successor: Successor
) -> None:
    due = add(place, one())
    death = Death(workers, successor)
    worker = death.first(point="claimed")
    worker.expect("at claimed")
    assert not marks(place, "start")
    death.comes_to(worker)
    measured(f"F2 {successor}, to the start", until(has(place, "start"), BACK_SECONDS, "the start"))
    until_quiet(place, due[0].instants[-1], LONG)
    assert judged(place, *due) == []
    assert [mark.attempt for mark in marks(place, "effect")] == [2]


@pytest.mark.parametrize(
    ("function", "successor"),
    [("awaited", "restart"), ("held", "peer"), ("apart", "restart"), ("apart", "peer"), ("apart", "stranger")],
)
def test_f3_killed_in_the_middle(
    place: Place, workers: Workers, measured: Measure, function: str, successor: Successor
) -> None:
    due = add(place, one(function, {"gate": "done"}))
    death = Death(workers, successor)
    worker = death.first()
    until(has(place, "start"), LONG, "the start")
    death.comes_to(worker)
    back = until(lambda: again(place), BACK_SECONDS, "another attempt")
    measured(f"F3 {function}, {successor}, to the next attempt", back)
    until(has(place, "start", 2), LONG, "its start")
    place.open_gate("done")
    until_quiet(place, due[0].instants[-1], LONG)
    assert judged(place, *due) == []
    assert [mark.attempt for mark in marks(place, "start")] == [1, 2]


def test_f3_an_orphan_does_not_outlive_its_node(place: Place, workers: Workers, measured: Measure) -> None:
    due = add(place, one("apart", {"gate": "done"}))
    worker = workers.ready()
    until(has(place, "start"), LONG, "the start")
    (orphan,) = {mark.pid for mark in marks(place, "start")}
    assert orphan != worker.pid
    assert is_alive(orphan)
    worker.kill()
    measured("F3 an orphan, to its death", until(lambda: not is_alive(orphan), 5, "the orphan's death"))
    place.open_gate("done")
    workers.ready()
    until(has(place, "end"), LONG, "the end")
    until_quiet(place, due[0].instants[-1], LONG)
    assert judged(place, *due) == []
    assert [mark.attempt for mark in marks(place, "effect")] == [2]


@pytest.mark.parametrize("successor", SUCCESSORS)
def test_f4_done_and_not_recorded(place: Place, workers: Workers, measured: Measure, successor: Successor) -> None:
    due = add(place, one())
    death = Death(workers, successor)
    worker = death.first(point="settling")
    worker.expect("at settling")
    assert len(marks(place, "effect")) == 1
    death.comes_to(worker)
    measured(f"F4 {successor}, to the repetition", until(has(place, "effect", 2), BACK_SECONDS, "the repetition"))
    until_quiet(place, due[0].instants[-1], LONG)
    assert judged(place, *due) == []
    assert [mark.attempt for mark in marks(place, "effect")] == [1, 2]


@pytest.mark.parametrize(
    ("point", "attempts", "state"),
    [("starting", [2], "succeeded"), ("started", [], "lost"), ("settling", [1], "lost")],
)
def test_f4_at_most_once(place: Place, workers: Workers, point: str, attempts: list[int], state: str) -> None:
    """Only what provably never started is tried again; all else is told as lost, and has at most one effect."""
    due = add(place, one(guarantee="at_most_once"))
    worker = workers.ready(point=point)
    worker.expect(f"at {point}")
    worker.kill()
    workers.ready()
    until_quiet(place, due[0].instants[-1], LONG)
    assert judged(place, *due) == []
    assert [mark.attempt for mark in marks(place, "effect")] == attempts
    assert gather(place).rows[-1].state == state


@pytest.mark.parametrize("point", ["claimed", "settling", "settled"])
def test_f5_there_is_no_moment_without_a_next_occurrence(place: Place, workers: Workers, point: str) -> None:
    """Killed before or after the commit, the run and what follows it are both there or both not there."""
    handle = ask(place, lambda app: app.schedule("note", "every 1s after end"))
    worker = workers.ready(point=point)
    worker.expect(f"at {point}")
    worker.kill()
    (latest,) = gather(place).rows
    if point == "settled":
        assert latest.state == "succeeded"
        assert latest.ended is not None
        assert _next_planned(place) == latest.ended + SECOND
    else:
        assert (latest.state, _next_planned(place)) == ("running", None)
    workers.ready()
    until(has(place, "end", 4), LONG, "four ends")
    ask(place, lambda app: app.service.tasks.cancel(app.who, handle.id))
    until_quiet(place, soon(0), LONG)
    occurrences = list({row.planned: row for row in gather(place).rows}.items())
    for (_, before), (planned, _) in pairwise(occurrences):
        assert before.ended is not None
        assert planned == before.ended + SECOND


def _next_planned(place: Place) -> datetime | None:
    found = query(place, "SELECT planned FROM agenda WHERE slot = 'next'")
    return instant(found[0][0]) if found else None


def test_f5_the_next_instant_stands_when_a_run_is_claimed(place: Place, workers: Workers) -> None:
    worker = workers.ready(point="claimed")
    series = Series(soon(1), SECOND, 8)
    due = add(place, Wanted("note", series, options=EVERYTHING))
    worker.expect("at claimed")
    worker.kill()
    (run,) = gather(place).rows
    assert run.claimed is not None
    assert _next_planned(place) == min(instant for instant in due[0].instants if instant > run.claimed)
    workers.ready()
    until_quiet(place, series.last, LONG)
    assert judged(place, *due) == []
