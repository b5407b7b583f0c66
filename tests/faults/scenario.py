"""Steps shared by fault tests: kill with failover, freeze and thaw, ledger queries, and the checker's verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import apsw

from horae.clock import SystemClock
from horae.runtime import sqlite_path
from tests.faults import ledger
from tests.faults.checker import find_violations
from tests.faults.client import TaskRequest, from_now
from tests.faults.oracle import Due, Series
from tests.faults.processes import Worker, Workers
from tests.faults.store_snapshot import check_store, read_snapshot, read_state
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import LEASE

Measure: TypeAlias = Callable[[str, float], None]
Successor: TypeAlias = Literal["restart", "peer", "stranger"]
"""Node that continues after a kill: the same one restarted, a peer on the machine, or one that sees only the lease."""

SUCCESSORS: Final[tuple[Successor, ...]] = ("restart", "peer", "stranger")
TIMEOUT: Final = 90.0
"""Longest wait, in seconds, for events that are not measured."""


class Failover:
    """A worker and its successor; a stranger learns of the death only from the lease."""

    def __init__(self, workers: Workers, successor: Successor) -> None:
        self._workers = workers
        self._successor = successor

    def start_first(self, **changes: object) -> Worker:
        return self._workers.ready(isolated=self._successor == "stranger", **changes)

    def kill(self, worker: Worker) -> Worker:
        """Kill the worker, and return its successor, which is ready."""
        if self._successor == "restart":
            worker.kill()
            return self._workers.ready()
        peer = self._workers.ready()
        worker.kill()
        return peer


def freeze(worker: Worker, testbed: Testbed) -> float:
    """Freeze the worker, and return the steady time.

    On SQLite never inside a write, which would block every other writer; a database server ends such a transaction.
    """
    path = sqlite_path(testbed.url)
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
    wait_until(lambda: SystemClock().steady() - frozen > 3 * LEASE, TIMEOUT, "three leases")
    worker.thaw()


def violations(testbed: Testbed, *due: Due) -> list[str]:
    """Return the violations found by the checker and by the store's own check."""
    return [*find_violations(due, ledger.read(testbed.ledger), read_snapshot(testbed)), *check_store(testbed)]


def marks(testbed: Testbed, phase: ledger.Phase) -> list[ledger.Mark]:
    return [mark for mark in ledger.read(testbed.ledger) if mark.phase == phase]


def has_marks(testbed: Testbed, phase: ledger.Phase, times: int = 1) -> Callable[[], bool]:
    return lambda: len(marks(testbed, phase)) >= times


def has_second_attempt(testbed: Testbed) -> bool:
    """Whether a second attempt was claimed; an isolated process may still be starting."""
    return any(row.attempt == 2 for row in read_snapshot(testbed).rows)


def is_quarantined(testbed: Testbed, due: Due) -> bool:
    return read_state(testbed, due.task) == [("failed", "quarantined")]


def one_shot(
    function: str = "note", payload: dict[str, str] | None = None, seconds: float = 0.2, **options: object
) -> TaskRequest:
    """Request one occurrence, `seconds` ahead."""
    return TaskRequest(function, Series(from_now(seconds)), payload, options)
