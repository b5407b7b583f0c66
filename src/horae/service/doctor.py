"""Doctor: the report of all checks of a deployment, shared by its callers and kept for a few seconds; for admins only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from ..clock import Clock
from ..model.accounts.principal import Principal, Scope
from ..ports.doctor import Check, DoctorReport

T = TypeVar("T")
Examine: TypeAlias = Callable[[], Awaitable[tuple[Check, ...]]]
MAX_AGE: Final = timedelta(seconds=5)
"""Age up to which callers get the report of an earlier caller."""


class Dated(NamedTuple, Generic[T]):
    """A value, and the instant at which its computation began."""

    value: T
    at: datetime


class SharedResult(Generic[T]):
    """Result of work that may take long: concurrent callers share one computation and wait for it up to their patience."""

    def __init__(self, compute: Callable[[], Awaitable[T]], clock: Clock) -> None:
        self._compute = compute
        self._clock = clock
        self._running: asyncio.Task[Dated[T]] | None = None
        self._last: Dated[T] | None = None
        self._last_steady = 0.0

    @property
    def is_running(self) -> bool:
        return self._running is not None and not self._running.done()

    async def get(self, max_age: timedelta, patience: float | None = None) -> Dated[T] | None:
        """Return the newest result, after computing another one if it is older than `max_age`.

        After `patience` seconds the work goes on in the background, and the caller gets the result before it, if any.
        Errors of the work are raised for callers that wait for it.
        """
        if self._has_ended():
            self._running = None
        if self._running is None and not self._is_fresh(max_age):
            self._running = asyncio.ensure_future(self._run())
        running = self._running
        if running is not None:
            await asyncio.wait({running}, timeout=patience)
            if running.done():
                return running.result()
        return self._last

    async def close(self) -> None:
        """Cancel the work, and wait for its end."""
        running, self._running = self._running, None
        if running is not None and running.get_loop() is asyncio.get_running_loop():
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def _run(self) -> Dated[T]:
        at, steady = self._clock.now(), self._clock.steady()
        self._last = Dated(await self._compute(), at)
        self._last_steady = steady
        return self._last

    def _is_fresh(self, max_age: timedelta) -> bool:
        return self._last is not None and self._clock.steady() - self._last_steady <= max_age.total_seconds()

    def _has_ended(self) -> bool:
        """Whether the work is done, or was started in an event loop that has ended, where it would never be."""
        running = self._running
        return running is None or running.done() or running.get_loop() is not asyncio.get_running_loop()


async def _no_checks() -> tuple[Check, ...]:
    return ()


class Doctor:
    """`examine` makes the checks; it comes from the composition root, which knows the settings and the machine."""

    def __init__(self, clock: Clock, examine: Examine, examine_durability: Examine | None = None) -> None:
        self.further: dict[str, Callable[[], Iterable[Check]]] = {}
        """Checks that a part of this process can make at once from what it has seen, such as failed writes."""
        self._shared = SharedResult(examine, clock)
        self._durability = SharedResult(examine_durability or _no_checks, clock)

    async def report(self, principal: Principal, max_age: timedelta = MAX_AGE) -> DoctorReport:
        """Return a report that is at most `max_age` old."""
        found = await self.latest(principal, max_age, None)
        assert found is not None  # noqa: S101 - without a limit to the patience there is a result
        return found

    async def latest(
        self, principal: Principal, max_age: timedelta = MAX_AGE, patience: float | None = 0.0
    ) -> DoctorReport | None:
        """Return the newest report within `patience` seconds; None if none is ready, while the checks go on.

        The sentences name paths, hosts and settings: only admins see them.
        """
        principal.require_scope(Scope.ADMIN)
        found = await self._shared.get(max_age, patience)
        if found is None:
            return None
        return DoctorReport(found.at, (*found.value, *(check for each in self.further.values() for check in each())))

    async def durability(
        self, principal: Principal, max_age: timedelta = MAX_AGE, patience: float | None = None
    ) -> DoctorReport | None:
        """Return only what the server of the store can lose, which costs one connection; empty for a file.

        None if it is not known within `patience` seconds.
        """
        principal.require_scope(Scope.ADMIN)
        found = await self._durability.get(max_age, patience)
        return None if found is None else DoctorReport(found.at, found.value)

    @property
    def is_running(self) -> bool:
        """Whether the checks are being made."""
        return self._shared.is_running

    async def close(self) -> None:
        """Stop checks that are being made."""
        await self._shared.close()
        await self._durability.close()
