"""Readiness of a deployment: the store answers and accepts a write, a node is live, clocks agree, nothing is overdue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any, Final, NamedTuple, Protocol

from ..clock import Clock
from ..errors import HoraeError, StoreUnavailable
from ..ports.node_records import ClockStep, load_agreed_lease, load_clock_steps
from ..ports.records import Record, Records, RecordWrite
from ..ports.store import Agenda, Book, Node
from ..wire.instants import milliseconds, utc

RECORD_KIND: Final = "probe"
VALID_SECONDS: Final = 10.0
"""Seconds for which a successful probe is valid."""
RETRY_SECONDS: Final = 1.0
"""Seconds between probes while they fail, or after another store call of this process failed."""
STUCK_SECONDS: Final = 10.0
"""Seconds after which an unconfirmed write counts as failed."""
_PROBE_BYTES: Final = 16_384
_PROBE_EXPIRY: Final = timedelta(hours=1)


class WriteProbe:
    """Write probe of one process: inserts and deletes a record in one transaction, at most every few seconds for all.

    `count_failures` returns how many store calls of this process have failed so far.
    """

    def __init__(self, clock: Clock, count_failures: Callable[[], float] = lambda: 0.0) -> None:
        self._clock = clock
        self._count_failures = count_failures
        self._failures_seen = 0.0
        self._key = token_hex(8)
        self._problem: HoraeError | None = None
        self._started_at: float | None = None
        self._running: asyncio.Task[None] | None = None

    @property
    def problem(self) -> HoraeError | None:
        """Why the last probe failed; None if it succeeded, or if there was none."""
        return self._problem

    async def check(self, store: Records, patience: float) -> HoraeError | None:
        """Return why writes fail; None while they succeed. Concurrent callers share one probe, for `patience` seconds."""
        if self._running is None and self._is_due():
            self._started_at, self._failures_seen = self._clock.steady(), self._count_failures()
            self._running = asyncio.ensure_future(self._probe(store))
            self._running.add_done_callback(self._on_done)
        if self._running is not None:
            # `wait` does not cancel the probe: a write under way must not be interrupted.
            await asyncio.wait({self._running}, timeout=patience)
        if self._running is not None and self._age() >= STUCK_SECONDS:
            return StoreUnavailable(f"No write was confirmed for {STUCK_SECONDS:.0f} s.")
        return self._problem

    def _is_due(self) -> bool:
        if self._started_at is None:
            return True
        may_fail = self._problem is not None or self._count_failures() > self._failures_seen
        return self._age() >= (RETRY_SECONDS if may_fail else VALID_SECONDS)

    def _age(self) -> float:
        return 0.0 if self._started_at is None else self._clock.steady() - self._started_at

    async def _probe(self, store: Records) -> None:
        """Insert and delete a record in one transaction, large enough to need new pages: a full store may still have
        free space in existing ones."""
        record = Record(
            RECORD_KIND, self._key, "", f'"{token_hex(_PROBE_BYTES // 2)}"', expires=self._clock.now() + _PROBE_EXPIRY
        )
        try:
            await store.write_records((RecordWrite(record), RecordWrite(record, replacing=1, dropped=True)))
        except HoraeError as error:
            self._problem = error
        except Exception as error:  # noqa: BLE001 - any error means that the write failed
            self._problem = StoreUnavailable(str(error))
        else:
            self._problem = None

    def _on_done(self, _done: asyncio.Task[None]) -> None:
        self._running = None


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
