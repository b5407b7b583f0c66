"""How often each caller may ask: a bucket that fills again by itself, in memory, bounded however many callers there are."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Final, NamedTuple

from ..clock import Clock

WINDOW: Final = 60.0
_MOST_KEPT: Final = 10_000
_FAILURES: Final = 60
"""So many wrong tokens from one address within a minute; from then on it is not even looked at what they bring."""


_REQUESTS: Final = 600
_CALLBACKS: Final = 60
"""Reports of one run within a minute."""


class Allowance(NamedTuple):
    """What is left of a bucket. `wait` is above zero for those who asked too often: seconds until the next one fits."""

    most: int
    left: int
    full_in: int
    wait: int = 0


class Buckets:
    """Each holds `most` unless `take` says otherwise, and from empty it is full again after a minute."""

    def __init__(self, most: int, clock: Clock) -> None:
        self._most = most
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, most: int | None = None) -> Allowance:
        size = self._most if most is None else most
        if size < 1:
            return Allowance(size, 0, math.ceil(WINDOW), math.ceil(WINDOW))
        level, now = self._level(key, size)
        if level < 1:
            return _allowance(size, level, math.ceil((1 - level) * WINDOW / size))
        self._keep(key, level - 1, now)
        return _allowance(size, level - 1)

    def _level(self, key: str, most: int) -> tuple[float, float]:
        now = self._clock.steady()
        level, at = self._kept.get(key, (float(most), now))
        return min(most, level + (now - at) * most / WINDOW), now

    def _keep(self, key: str, level: float, now: float) -> None:
        self._kept[key] = level, now
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_KEPT:
            # Whoever was not seen for longest has a full bucket by now, or nearly.
            self._kept.popitem(last=False)


def _allowance(most: int, level: float, wait: int = 0) -> Allowance:
    return Allowance(most, int(level), math.ceil((most - level) * WINDOW / most), wait)


class Allowances:
    """Buckets of owners (each as large as the owner's quota), of addresses that send wrong tokens, and of callbacks."""

    def __init__(self, clock: Clock) -> None:
        self.owners = Buckets(_REQUESTS, clock)
        self.strangers = Buckets(_FAILURES, clock)
        self.callbacks = Buckets(_CALLBACKS, clock)
