"""Write probe of a store: inserts and deletes a record in one transaction, at most every few seconds for all callers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from secrets import token_hex
from typing import Final

from ..clock import Clock
from ..errors import HoraeError, StoreUnavailable
from ..ports.records import Record, Records, RecordWrite

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
    """Probe of one process. `count_failures` returns how many store calls of this process have failed so far."""

    def __init__(self, clock: Clock, count_failures: Callable[[], float] = lambda: 0.0) -> None:
        self._clock = clock
        self._count_failures = count_failures
        self._failures_seen = 0.0
        self._key = token_hex(8)
        self._problem: HoraeError | None = None
        self._started_at: float | None = None
        self._running: asyncio.Task[None] | None = None

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
