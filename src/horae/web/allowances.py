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


_CALLBACKS: Final = 60
"""Reports of one run within a minute."""


class Allowance(NamedTuple):
    """What is left of a bucket. `wait` is above zero for those who asked too often: seconds until the next one fits."""

    most: int
    left: int
    full_in: int
    wait: int = 0


class Buckets:
    """Each holds `most`, and from empty it is full again after a minute."""

    def __init__(self, most: int, clock: Clock) -> None:
        self.most = most
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> Allowance:
        level, now = self._level(key)
        if level < 1:
            return self._told(level, math.ceil((1 - level) * WINDOW / self.most))
        self._keep(key, level - 1, now)
        return self._told(level - 1)

    def _level(self, key: str) -> tuple[float, float]:
        now = self._clock.steady()
        level, at = self._kept.get(key, (float(self.most), now))
        return min(self.most, level + (now - at) * self.most / WINDOW), now

    def _keep(self, key: str, level: float, now: float) -> None:
        self._kept[key] = level, now
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_KEPT:
            # Whoever was not seen for longest has a full bucket by now, or nearly.
            self._kept.popitem(last=False)

    def _told(self, level: float, wait: int = 0) -> Allowance:
        return Allowance(self.most, int(level), math.ceil((self.most - level) * WINDOW / self.most), wait)


class Allowances:
    """`callers` is None where nobody is held back."""

    def __init__(self, rate_limit: int | None, clock: Clock) -> None:
        self.callers = None if rate_limit is None else Buckets(rate_limit, clock)
        self.strangers = Buckets(_FAILURES, clock)
        self.callbacks = Buckets(_CALLBACKS, clock)
