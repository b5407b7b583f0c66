"""Everything that may be done to a node, or to the database of all nodes, and how it is undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

import apsw

from tests.cluster.soak.fleet import Fleet, Seat
from tests.faults.processes import START_SECONDS
from tests.faults.scene import freeze

Undo: TypeAlias = Callable[[], None]
MOST_ANSWERS: Final = 20
SLOWEST: Final = 2 / 15
"""Of the lease: so much longer a question may take there and back (F10)."""


class Blow(NamedTuple):
    """What was begun, and how long it goes on, in leases at most."""

    undo: Undo
    leases: float


# How much of it (from 0 to 1), where, to whom, and the lease.
OnSeat: TypeAlias = Callable[[float, Fleet, Seat, float], Blow]
OnAll: TypeAlias = Callable[[Fleet], Blow]


def kill(_amount: float, _fleet: Fleet, seat: Seat, _lease: float) -> Blow:
    seat.worker.kill()
    return Blow(seat.refill, 1.0)


def roll(_amount: float, _fleet: Fleet, seat: Seat, lease: float) -> Blow:
    """SIGTERM, and a new one in its place. Whoever cannot reach the store tries for a while to say goodbye."""
    worker = seat.worker
    worker.ask_to_end()

    def undo() -> None:
        worker.dies(START_SECONDS + 4 * lease)
        seat.refill()

    return Blow(undo, 0.5)


def stop(_amount: float, fleet: Fleet, seat: Seat, _lease: float) -> Blow:
    """SIGSTOP, and SIGCONT after as much as three leases."""
    worker = seat.worker
    if fleet.down:
        # Where we hold the file's lock ourselves, nobody is in the middle of a write.
        worker.freeze()
    else:
        freeze(worker, fleet.place)
    return Blow(worker.thaw, 3.0)


def cut(_amount: float, _fleet: Fleet, seat: Seat, _lease: float) -> Blow:
    assert seat.proxy is not None
    seat.proxy.cut()
    return Blow(seat.proxy.heal, 2.0)


def half_open(_amount: float, _fleet: Fleet, seat: Seat, _lease: float) -> Blow:
    assert seat.proxy is not None
    seat.proxy.half_open()
    return Blow(seat.proxy.heal, 2.0)


def slow(amount: float, _fleet: Fleet, seat: Seat, lease: float) -> Blow:
    assert seat.proxy is not None
    seat.proxy.delay(amount * lease * SLOWEST / 2)
    return Blow(seat.proxy.heal, 2.0)


def forget(amount: float, _fleet: Fleet, seat: Seat, _lease: float) -> Blow:
    """Commits whose answers are lost."""
    proxy = seat.proxy
    assert proxy is not None
    proxy.forget(1 + int(amount * MOST_ANSWERS), spared=0.5)
    return Blow(lambda: proxy.forget(0), 1.0)


def down(fleet: Fleet) -> Blow:
    server = fleet.server
    assert server is not None
    server.kill()

    def undo() -> None:
        server.start()

    return Blow(undo, 4.0)


def deaf(fleet: Fleet) -> Blow:
    """The whole database is frozen."""
    assert fleet.server is not None
    fleet.server.freeze()
    return Blow(fleet.server.thaw, 2.0)


def lock(fleet: Fleet) -> Blow:
    """Somebody holds the file's write lock."""
    connection = apsw.Connection(str(fleet.place.store))
    connection.set_busy_timeout(10_000)
    connection.execute("BEGIN IMMEDIATE").fetchall()

    def undo() -> None:
        connection.execute("ROLLBACK").fetchall()
        connection.close()

    return Blow(undo, 2.0)


ANYWHERE: Final[Mapping[str, OnSeat]] = {"kill -9": kill, "SIGTERM": roll, "SIGSTOP": stop}
BEHIND_A_PROXY: Final[Mapping[str, OnSeat]] = {
    "cut off": cut,
    "half open": half_open,
    "slow store": slow,
    "answers lost": forget,
}
HARMLESS: Final = frozenset({"SIGTERM", "slow store", "answers lost"})
"""After these no run may be taken from its node because of a lease."""
ON_THE_SERVER: Final[Mapping[str, OnAll]] = {"database killed": down, "database frozen": deaf}
ON_THE_FILE: Final[Mapping[str, OnAll]] = {"file locked": lock}
