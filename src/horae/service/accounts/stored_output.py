"""In-process cache of the bytes of results, errors and log lines that an owner stores."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple, Protocol
from weakref import WeakValueDictionary

from ...clock import Clock

FREQUENT_SECONDS: Final = 55.0
"""A little less than the minute between two enforcements, so that each of them measures."""
RARE_SECONDS: Final = 600.0
"""Where at most half of the limit is used, and more than `AMPLE_BYTES` are left."""
AMPLE_BYTES: Final = 128 * 1024 * 1024
"""More than ordinary runs write in ten minutes. Owners with a smaller limit have little to measure."""
_MAX_OWNERS: Final = 10_000


class OutputSource(Protocol):
    async def output_bytes(self, owner: str) -> int:
        """As `ports.store.Book` has it."""


class Measurement(NamedTuple):
    """`measured_at` is on the steady clock."""

    output: int
    measured_at: float


class StoredOutput:
    """A measurement reads every run of an owner, so it is repeated after about a minute where the owner could soon reach its
    limit, and after ten minutes elsewhere. One measurement of an owner runs at a time."""

    def __init__(self, store: OutputSource, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._measurements: dict[str, Measurement] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def recall(self, owner: str, definitions: int, limit: int) -> Measurement | None:
        """The last measurement; None when another one is due. `definitions` are the bytes of the owner's tasks."""
        known = self._measurements.get(owner)
        if known is None:
            return None
        used = known.output + definitions
        is_near = 2 * used > limit or limit - used < AMPLE_BYTES
        return known if self.age(known) < (FREQUENT_SECONDS if is_near else RARE_SECONDS) else None

    def age(self, measurement: Measurement) -> float:
        return self._clock.steady() - measurement.measured_at

    async def measure(self, owner: str, max_age: float = 0.0) -> int:
        """Read it from the store, unless another caller did so no more than `max_age` seconds ago."""
        asked_at = self._clock.steady()
        lock = self._locks.get(owner)
        if lock is None:
            lock = self._locks[owner] = asyncio.Lock()
        async with lock:
            known = self._measurements.get(owner)
            if known is not None and known.measured_at > asked_at - max_age:
                return known.output
            began = self._clock.steady()
            output = await self._store.output_bytes(owner)
            # The newest stands last; the oldest makes room.
            self._measurements.pop(owner, None)
            self._measurements[owner] = Measurement(output, began)
            if len(self._measurements) > _MAX_OWNERS:
                del self._measurements[next(iter(self._measurements))]
            return output

    def forget(self, owner: str) -> None:
        """A task of the owner was deleted with its history."""
        self._measurements.pop(owner, None)
