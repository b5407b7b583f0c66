"""Token bucket rate limiter for HTTP requests, in memory, with a bounded number of buckets."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Final, NamedTuple

from ..clock import Clock

WINDOW: Final = 60.0
_MAX_BUCKETS: Final = 10_000
_FAILURES: Final = 60
"""Wrong tokens per address and minute; above it, requests of that address are refused before their token is checked."""


_REQUESTS: Final = 600
_CALLBACKS: Final = 60
"""Callbacks per run and minute."""


class BucketState(NamedTuple):
    """State of a bucket after a request. `full_in` is seconds until it is full; `retry_after` is above zero for a
    refused request: seconds until the next one is allowed."""

    limit: int
    remaining: int
    full_in: int
    retry_after: int = 0


class TokenBuckets:
    """Token buckets by key: each holds `limit` tokens unless `take` is given another limit, and refills within a
    minute."""

    def __init__(self, limit: int, clock: Clock) -> None:
        self._limit = limit
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, limit: int | None = None) -> BucketState:
        size = self._limit if limit is None else limit
        if size < 1:
            return BucketState(size, 0, math.ceil(WINDOW), math.ceil(WINDOW))
        level, now = self._level(key, size)
        if level < 1:
            return _bucket_state(size, level, math.ceil((1 - level) * WINDOW / size))
        self._store(key, level - 1, now)
        return _bucket_state(size, level - 1)

    def _level(self, key: str, limit: int) -> tuple[float, float]:
        now = self._clock.steady()
        level, at = self._buckets.get(key, (float(limit), now))
        return min(limit, level + (now - at) * limit / WINDOW), now

    def _store(self, key: str, level: float, now: float) -> None:
        self._buckets[key] = level, now
        self._buckets.move_to_end(key)
        if len(self._buckets) > _MAX_BUCKETS:
            # The least recently used bucket is full again by now, or nearly.
            self._buckets.popitem(last=False)


def _bucket_state(limit: int, level: float, wait: int = 0) -> BucketState:
    return BucketState(limit, int(level), math.ceil((limit - level) * WINDOW / limit), wait)


class RateLimits:
    """Buckets of owners (sized by the owner's quota), of addresses that send wrong tokens, and of callbacks."""

    def __init__(self, clock: Clock) -> None:
        self.owners = TokenBuckets(_REQUESTS, clock)
        self.failures = TokenBuckets(_FAILURES, clock)
        self.callbacks = TokenBuckets(_CALLBACKS, clock)
