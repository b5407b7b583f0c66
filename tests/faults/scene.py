"""What the tests of this folder have in common: a death, whoever takes over, and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import apsw

from horae.clock import SystemClock
from horae.runtime import sqlite_path
from tests.faults import ledger
from tests.faults.checker import faults_in
from tests.faults.client import Wanted, soon
from tests.faults.evidence import doubts, gather, query
from tests.faults.oracle import Due, Series
from tests.faults.orders import LEASE
from tests.faults.place import Place, until
from tests.faults.processes import Worker, Workers

Measure: TypeAlias = Callable[[str, float], None]
Successor: TypeAlias = Literal["restart", "peer", "stranger"]
"""Who goes on after a death: the node started again, a second one beside it, or one that cannot see it die."""

SUCCESSORS: Final[tuple[Successor, ...]] = ("restart", "peer", "stranger")
LONG: Final = 30.0
"""For what is waited for, and not measured."""
_STATE: Final = """
SELECT task_state.state, task_state.reason FROM task_state JOIN tasks ON tasks.seq = task_state.task WHERE tasks.id = ?
"""


class Death:
    """A worker, and its successor. A stranger only sees that a lease is not renewed any more."""

    def __init__(self, workers: Workers, successor: Successor) -> None:
        self._workers = workers
        self._successor = successor

    def first(self, **changes: object) -> Worker:
        return self._workers.ready(elsewhere=self._successor == "stranger", **changes)

    def comes_to(self, worker: Worker) -> Worker:
        """It is dead when this returns, and somebody else is ready to go on."""
        if self._successor == "restart":
            worker.kill()
            return self._workers.ready()
        peer = self._workers.ready()
        worker.kill()
        return peer


def freeze(worker: Worker, place: Place) -> float:
    """Since when, on the steady clock. On a file not in the middle of a write: that would hold up everybody on it until
    it goes on; a server helps itself."""
    path = sqlite_path(place.url)
    if path is None:
        worker.freeze()
        return SystemClock().steady()
    connection = apsw.Connection(path)
    try:
        while True:
            worker.freeze()
            try:
                connection.execute("BEGIN IMMEDIATE").fetchall()
                connection.execute("ROLLBACK").fetchall()
            except apsw.BusyError:
                worker.thaw()
            else:
                return SystemClock().steady()
    finally:
        connection.close()


def thaw_after_three_leases(worker: Worker, frozen: float) -> None:
    until(lambda: SystemClock().steady() - frozen > 3 * LEASE, LONG, "three leases")
    worker.thaw()


def judged(place: Place, *due: Due) -> list[str]:
    """Everything that is wrong."""
    return [*faults_in(due, ledger.read(place.ledger), gather(place)), *doubts(place)]


def marks(place: Place, phase: ledger.Phase) -> list[ledger.Mark]:
    return [mark for mark in ledger.read(place.ledger) if mark.phase == phase]


def has(place: Place, phase: ledger.Phase, times: int = 1) -> Callable[[], bool]:
    return lambda: len(marks(place, phase)) >= times


def again(place: Place) -> bool:
    """A second attempt has been claimed; a process that it needs may take its time to start."""
    return any(row.attempt == 2 for row in gather(place).rows)


def is_quarantined(place: Place, due: Due) -> bool:
    return query(place, _STATE, (due.task,)) == [("failed", "quarantined")]


def one(
    function: str = "note", payload: dict[str, str] | None = None, seconds: float = 0.2, **options: object
) -> Wanted:
    """One occurrence, in a moment."""
    return Wanted(function, Series(soon(seconds)), payload, options)
