"""Faults that the nemesis injects into a node or into the database, each with its undo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

import apsw

from tests.cluster.soak.fleet import Fleet, NodeSlot
from tests.faults.processes import START_SECONDS
from tests.faults.scenario import freeze

Undo: TypeAlias = Callable[[], None]
MOST_ANSWERS: Final = 20
SLOWEST: Final = 2 / 15
"""Largest added round-trip time, as a share of the lease (F10)."""


class Injection(NamedTuple):
    """A running fault: its undo, and its longest duration in leases."""

    undo: Undo
    leases: float


# Arguments: strength from 0 to 1, fleet, node slot, lease in seconds.
NodeFault: TypeAlias = Callable[[float, Fleet, NodeSlot, float], Injection]
DatabaseFault: TypeAlias = Callable[[Fleet], Injection]


def kill(_amount: float, _fleet: Fleet, slot: NodeSlot, _lease: float) -> Injection:
    slot.worker.kill()
    return Injection(slot.restart, 1.0)


def terminate(_amount: float, _fleet: Fleet, slot: NodeSlot, lease: float) -> Injection:
    """Send SIGTERM; the undo waits for the exit and restarts. Without its store a node exits late."""
    worker = slot.worker
    worker.terminate()

    def undo() -> None:
        worker.wait_for_exit(START_SECONDS + 4 * lease)
        slot.restart()

    return Injection(undo, 0.5)


def freeze_node(_amount: float, fleet: Fleet, slot: NodeSlot, _lease: float) -> Injection:
    """Send SIGSTOP; the undo sends SIGCONT, at most three leases later."""
    worker = slot.worker
    if fleet.is_database_down:
        # The nemesis holds the file's lock: no worker is inside a write.
        worker.freeze()
    else:
        freeze(worker, fleet.testbed)
    return Injection(worker.thaw, 3.0)


def cut(_amount: float, _fleet: Fleet, slot: NodeSlot, _lease: float) -> Injection:
    assert slot.proxy is not None
    slot.proxy.cut()
    return Injection(slot.proxy.heal, 2.0)


def half_open(_amount: float, _fleet: Fleet, slot: NodeSlot, _lease: float) -> Injection:
    assert slot.proxy is not None
    slot.proxy.half_open()
    return Injection(slot.proxy.heal, 2.0)


def slow(amount: float, _fleet: Fleet, slot: NodeSlot, lease: float) -> Injection:
    assert slot.proxy is not None
    slot.proxy.delay(amount * lease * SLOWEST / 2)
    return Injection(slot.proxy.heal, 2.0)


def lose_replies(amount: float, _fleet: Fleet, slot: NodeSlot, _lease: float) -> Injection:
    """Drop the replies of commits."""
    proxy = slot.proxy
    assert proxy is not None
    proxy.lose_replies(1 + int(amount * MOST_ANSWERS), spare_share=0.5)
    return Injection(lambda: proxy.lose_replies(0), 1.0)


def kill_database(fleet: Fleet) -> Injection:
    server = fleet.server
    assert server is not None
    server.kill()

    def undo() -> None:
        server.start()

    return Injection(undo, 4.0)


def freeze_database(fleet: Fleet) -> Injection:
    """Freeze the database server."""
    assert fleet.server is not None
    fleet.server.freeze()
    return Injection(fleet.server.thaw, 2.0)


def lock_file(fleet: Fleet) -> Injection:
    """Hold the write lock of the SQLite file."""
    connection = apsw.Connection(str(fleet.testbed.store))
    connection.set_busy_timeout(10_000)
    connection.execute("BEGIN IMMEDIATE").fetchall()

    def undo() -> None:
        connection.execute("ROLLBACK").fetchall()
        connection.close()

    return Injection(undo, 2.0)


ANYWHERE: Final[Mapping[str, NodeFault]] = {"kill -9": kill, "SIGTERM": terminate, "SIGSTOP": freeze_node}
BEHIND_A_PROXY: Final[Mapping[str, NodeFault]] = {
    "cut off": cut,
    "half open": half_open,
    "slow store": slow,
    "answers lost": lose_replies,
}
HARMLESS: Final = frozenset({"SIGTERM", "slow store", "answers lost"})
"""Faults after which no run may be taken from its node."""
ON_THE_SERVER: Final[Mapping[str, DatabaseFault]] = {
    "database killed": kill_database,
    "database frozen": freeze_database,
}
ON_THE_FILE: Final[Mapping[str, DatabaseFault]] = {"file locked": lock_file}
