"""Parameters and steps of cluster tests: short leases, nodes with a remote identity, and ledger queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from horae.clock import SystemClock
from tests.cluster.stores import SERVERS, SQL_SERVERS, STORES
from tests.faults.client import RUN_EVERY_INSTANT, TaskRequest, from_now
from tests.faults.oracle import Due, Series
from tests.faults.scenario import TIMEOUT, marks
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import OTHER_MACHINE
from tests.sizes import SOAK

LEASE: Final = 3.0
"""Shorter than the default, and long enough for a busy machine."""
LOCAL_NODE: Final[dict[str, Any]] = {"lease": LEASE}
REMOTE_NODE: Final[dict[str, Any]] = {"lease": LEASE, "home": OTHER_MACHINE}

ON_SERVERS: Final = pytest.mark.parametrize("store", SERVERS, indirect=True)
ON_SQL_SERVERS: Final = pytest.mark.parametrize("store", SERVERS if SOAK else SQL_SERVERS, indirect=True)
"""For what concerns open transactions and the checker. A soak run takes all servers."""
ON_ONE_SERVER: Final = pytest.mark.parametrize("store", SERVERS if SOAK else SERVERS[:1], indirect=True)
"""For faults of a node: the store contract covers differences between servers. A soak run takes all servers."""
ON_ONE_STORE: Final = pytest.mark.parametrize("store", STORES if SOAK else SERVERS[:1], indirect=True)
"""The same, where SQLite works too."""


def steady_series(seconds: float, every: float = 0.25, begin: float = 0.5) -> TaskRequest:
    """Request a series of which each instant must run."""
    series = Series(from_now(begin), timedelta(seconds=every), int(seconds / every))
    return TaskRequest("note", series, options=RUN_EVERY_INSTANT)


def pass_leases(times: float, since: float | None = None, lease: float = LEASE) -> None:
    """Wait for `times` leases, from `since` on the steady clock or from now."""
    clock = SystemClock()
    begin = clock.steady() if since is None else since
    wait_until(lambda: clock.steady() - begin > times * lease, TIMEOUT * 4, f"{times:g} leases")


def effects(testbed: Testbed) -> Counter[tuple[str, datetime]]:
    """Count the effects of each occurrence."""
    return Counter((mark.task, mark.planned) for mark in marks(testbed, "effect"))


def once_per_instant(*due: Due) -> Counter[tuple[str, datetime]]:
    return Counter((task.task, instant) for task in due for instant in task.instants)


def last_instant(*due: Due) -> datetime:
    return max(task.instants[-1] for task in due)


def started(testbed: Testbed, due: Due, attempt: int = 1) -> Callable[[], bool]:
    """Return a condition: an attempt at the task has started."""
    return lambda: any(mark.task == due.task and mark.attempt == attempt for mark in marks(testbed, "start"))


def lateness(testbed: Testbed) -> list[float]:
    """Lateness of all first attempts in seconds, sorted."""
    return sorted(
        (mark.instant - mark.planned).total_seconds() for mark in marks(testbed, "start") if mark.attempt == 1
    )
