"""Readiness of a deployment: the store answers and accepts writes, a node is live, clocks agree, nothing is long overdue."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Protocol

from ..clock import Clock
from ..errors import HoraeError, StoreUnavailable
from ..ports.node_records import ClockStep, load_agreed_lease, load_clock_steps
from ..ports.records import Records
from ..ports.store import Agenda, Book, Node
from ..wire.instants import milliseconds, utc
from .write_probe import WriteProbe

STORE_TIMEOUT: Final = 2.0
"""Timeout in seconds for the store's answer."""
TOLERANCE: Final = timedelta(seconds=60)
GRACE: Final = timedelta(seconds=60)


class HealthStore(Agenda, Book, Records, Protocol):
    """The parts of a store that the check reads."""


class Readiness(NamedTuple):
    """Result of each check; where the store does not answer, all of them are False."""

    store: bool = False
    writes: bool = False
    """The last write probe succeeded."""
    engine: bool = False
    """At least one live node claims due entries (is not draining)."""
    clock: bool = False
    """Every live node's clock is within the tolerance of the store's."""
    on_time: bool = False
    """The head of the agenda is not overdue by more than the grace."""

    def is_ready(self, *, engine: bool) -> bool:
        """Whether all checks pass; without `engine` (no node is expected), those of the store are enough."""
        return self.store and self.writes and (not engine or (self.engine and self.clock and self.on_time))


class HealthReport(NamedTuple):
    """`problem` is why the store does not answer, or refuses writes.

    `load_clock_steps` of the last day do not affect readiness, since the engine has handled them.
    """

    readiness: Readiness
    problem: HoraeError | None = None
    clock_steps: tuple[ClockStep, ...] = ()

    def steps_json(self) -> list[dict[str, Any]]:
        """Return the clock steps without host names, since the endpoint needs no authentication."""
        return [{"at": utc(step.at), "by_ms": milliseconds(step.by)} for step in self.clock_steps]


async def check_health(
    store: HealthStore, clock: Clock, writes: WriteProbe, *, tolerance: timedelta = TOLERANCE, grace: timedelta = GRACE
) -> HealthReport:
    """Check the deployment; store errors are returned in the condition, not raised."""
    try:
        async with asyncio.timeout(STORE_TIMEOUT):
            lease = await load_agreed_lease(store)
            nodes = await store.nodes()
            head = await store.next_due()
            steps = await load_clock_steps(store, clock.now())
    except HoraeError as error:
        return HealthReport(Readiness(), error)
    except (TimeoutError, OSError):
        return HealthReport(Readiness(), StoreUnavailable(f"It did not answer within {STORE_TIMEOUT:.0f} s."))
    problem = await writes.check(store, STORE_TIMEOUT)
    now = clock.now()
    live = [node for node in nodes if is_live(node, now, lease)]
    parts = Readiness(
        store=True,
        writes=problem is None,
        engine=any(not node.draining for node in live),
        clock=all(abs(node.offset) <= tolerance for node in live),
        on_time=head is None or now - head <= grace,
    )
    return HealthReport(parts, problem, steps)


def is_live(node: Node, now: datetime, lease: timedelta) -> bool:
    return now - node.renewed <= lease
