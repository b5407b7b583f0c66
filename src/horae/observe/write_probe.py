"""Whether the store takes writes: tried now and then, with what leaves nothing behind, and never once for each who asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from secrets import token_hex
from typing import Final

from ..clock import Clock
from ..errors import HoraeError, StoreUnavailable
from ..ports.records import Record, Records, Writing

KIND: Final = "probe"
GOOD_FOR: Final = 10.0
"""Seconds: so long the answer of a store that took a write is believed."""
AGAIN_AFTER: Final = 1.0
"""Seconds from one try to the next while it takes none, or after something of this process has failed there."""
STUCK: Final = 10.0
"""Seconds: a write that nobody has confirmed by then is no write."""
_SIZE: Final = 16_384
_LIFE: Final = timedelta(hours=1)


class Writes:
    """One for each process. `failed` says how many calls of this process the store has failed so far."""

    def __init__(self, clock: Clock, failed: Callable[[], float] = lambda: 0.0) -> None:
        self._clock = clock
        self._failed = failed
        self._seen = 0.0
        self._key = token_hex(8)
        self._problem: HoraeError | None = None
        self._begun: float | None = None
        self._going: asyncio.Task[None] | None = None

    async def problem(self, store: Records, patience: float) -> HoraeError | None:
        """Why nothing can be written; None while it can be. Whoever asks meanwhile waits for the same try, for so long."""
        if self._going is None and self._is_due():
            self._begun, self._seen = self._clock.steady(), self._failed()
            self._going = asyncio.ensure_future(self._try(store))
            self._going.add_done_callback(self._ended)
        if self._going is not None:
            # Only waited for: a write under way is not taken back.
            await asyncio.wait({self._going}, timeout=patience)
        if self._going is not None and self._age() >= STUCK:
            return StoreUnavailable(f"No write was confirmed for {STUCK:.0f} s.")
        return self._problem

    def _is_due(self) -> bool:
        if self._begun is None:
            return True
        doubtful = self._problem is not None or self._failed() > self._seen
        return self._age() >= (AGAIN_AFTER if doubtful else GOOD_FOR)

    def _age(self) -> float:
        return 0.0 if self._begun is None else self._clock.steady() - self._begun

    async def _try(self, store: Records) -> None:
        """Put and taken away in one transaction: as large as what needs new pages, since a full store may still have
        room within those that it has."""
        record = Record(KIND, self._key, "", f'"{token_hex(_SIZE // 2)}"', expires=self._clock.now() + _LIFE)
        try:
            await store.write_records((Writing(record), Writing(record, replacing=1, dropped=True)))
        except HoraeError as error:
            self._problem = error
        except Exception as error:  # noqa: BLE001 - whatever it was, nothing was written
            self._problem = StoreUnavailable(str(error))
        else:
            self._problem = None

    def _ended(self, _done: asyncio.Task[None]) -> None:
        self._going = None
