"""What the tests of this folder have in common: terms that are short, nodes that seem far away, and marks by what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from horae.clock import SystemClock
from tests.cluster.stores import SERVERS, STORES
from tests.faults.client import EVERYTHING, Wanted, soon
from tests.faults.oracle import Due, Series
from tests.faults.orders import ELSEWHERE
from tests.faults.place import Place, until
from tests.faults.scene import LONG, marks
from tests.sizes import SOAK

LEASE: Final = 3.0
"""Shorter than by default, and long enough for a machine that is busy with other work."""
NEAR: Final[dict[str, Any]] = {"lease": LEASE}
FAR: Final[dict[str, Any]] = {"lease": LEASE, "home": ELSEWHERE}

ON_SERVERS: Final = pytest.mark.parametrize("store", SERVERS, indirect=True)
ON_ONE_SERVER: Final = pytest.mark.parametrize("store", SERVERS if SOAK else SERVERS[:1], indirect=True)
"""For faults of a node: the contract of stores covers what differs between servers. A soak run takes all of them."""
ON_ONE_STORE: Final = pytest.mark.parametrize("store", STORES if SOAK else SERVERS[:1], indirect=True)
"""The same, where a file can be shared too."""


def steadily(seconds: float, every: float = 0.25, begin: float = 0.5) -> Wanted:
    """Something that goes on all the time, and of which each instant has to be run."""
    series = Series(soon(begin), timedelta(seconds=every), int(seconds / every))
    return Wanted("note", series, options=EVERYTHING)


def pass_leases(times: float, since: float | None = None, lease: float = LEASE) -> None:
    """From an instant of the steady clock, or from now."""
    clock = SystemClock()
    begin = clock.steady() if since is None else since
    until(lambda: clock.steady() - begin > times * lease, LONG * 4, f"{times:g} leases")


def effects(place: Place) -> Counter[tuple[str, datetime]]:
    """How often each occurrence has happened."""
    return Counter((mark.task, mark.planned) for mark in marks(place, "effect"))


def once_each(*due: Due) -> Counter[tuple[str, datetime]]:
    return Counter((task.task, instant) for task in due for instant in task.instants)


def last_of(*due: Due) -> datetime:
    return max(task.instants[-1] for task in due)


def started(place: Place, due: Due, attempt: int = 1) -> Callable[[], bool]:
    """Whether an attempt at a task has begun."""
    return lambda: any(mark.task == due.task and mark.attempt == attempt for mark in marks(place, "start"))


def lateness(place: Place) -> list[float]:
    """Of all first attempts, in seconds, the worst last."""
    return sorted((mark.instant - mark.planned).total_seconds() for mark in marks(place, "start") if mark.attempt == 1)
