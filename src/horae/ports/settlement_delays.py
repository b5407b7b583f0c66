"""Settlement delays of the last minutes, as records: each node writes its own, the overview adds them up.

A settlement delay is the time from the end of a run to the commit that records this end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from ..model.counts import EVERYBODY, bucket_end, bucket_of_microseconds, quantile
from .records import Records

SETTLEMENT_DELAY: Final = "settlement_delay"
WINDOW: Final = timedelta(minutes=5)
MOST_OWNERS: Final = 50
"""Each node counts so many owners apart in a minute; further ones are counted for everybody alone."""
_MICROSECOND: Final = timedelta(microseconds=1)
_PAGE: Final = 100
_MINUTES: Final = WINDOW // timedelta(minutes=1)


class SettlementDelay(NamedTuple):
    """p50 and p99 are ends of buckets, at most a fifth too long; `longest` is exact."""

    counted: int = 0
    p50: timedelta | None = None
    p99: timedelta | None = None
    longest: timedelta | None = None


class Delays:
    """The delays of one owner, or of everybody, within a minute."""

    __slots__ = ("buckets", "longest")

    def __init__(self, longest: int = 0, buckets: dict[int, int] | None = None) -> None:
        self.longest = longest
        self.buckets: dict[int, int] = {} if buckets is None else buckets

    def add(self, microseconds: int) -> None:
        bucket = bucket_of_microseconds(microseconds)
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1
        self.longest = max(self.longest, microseconds)


Minutes: TypeAlias = dict[int, dict[str, Delays]]
"""By minute since 1970 and owner."""


class DelayWindow:
    """What one node has settled within the window."""

    def __init__(self, minutes: Minutes | None = None) -> None:
        self._minutes: Minutes = {} if minutes is None else minutes

    @classmethod
    def from_json(cls, text: str) -> DelayWindow:
        found: Minutes = {}
        for minute, owners in json.loads(text).items():
            found[int(minute)] = {
                owner: Delays(longest, {int(bucket): number for bucket, number in buckets.items()})
                for owner, (longest, buckets) in owners.items()
            }
        return cls(found)

    def as_json(self) -> dict[str, Any]:
        return {
            str(minute): {owner: [delays.longest, delays.buckets] for owner, delays in owners.items()}
            for minute, owners in self._minutes.items()
        }

    def add(self, ended: Iterable[tuple[str, datetime]], recorded: datetime) -> None:
        """Owner and end of each run whose end was committed at `recorded`."""
        minute = _minute_of(recorded)
        owners = self._minutes.get(minute)
        if owners is None:
            owners = self._minutes[minute] = {EVERYBODY: Delays()}
            self._forget(minute)
        everybody = owners[EVERYBODY]
        for owner, at in ended:
            # A clock that was set back makes no delay negative.
            delay = max(0, (recorded - at) // _MICROSECOND)
            everybody.add(delay)
            own = owners.get(owner)
            if own is None and len(owners) <= MOST_OWNERS:
                own = owners[owner] = Delays()
            if own is not None and own is not everybody:
                own.add(delay)

    def of(self, owner: str, now: datetime) -> list[Delays]:
        """Those of the window up to now."""
        first = _minute_of(now) - _MINUTES
        return [owners[owner] for minute, owners in self._minutes.items() if minute > first and owner in owners]

    def _forget(self, minute: int) -> None:
        """Minutes before the window; and, after the clock was set back, minutes ahead of it."""
        for each in [each for each in self._minutes if not minute - _MINUTES < each <= minute]:
            del self._minutes[each]


def _minute_of(at: datetime) -> int:
    return int(at.timestamp() // 60)


def summed_up(found: Iterable[Delays]) -> SettlementDelay:
    buckets: dict[int, int] = {}
    longest = 0
    for delays in found:
        longest = max(longest, delays.longest)
        for bucket, number in delays.buckets.items():
            buckets[bucket] = buckets.get(bucket, 0) + number
    counted = sum(buckets.values())
    if not counted:
        return SettlementDelay()
    most = longest * _MICROSECOND
    p50, p99 = (min(most, bucket_end(quantile(buckets, counted, share))) for share in (0.50, 0.99))
    return SettlementDelay(counted, p50, p99, most)


async def settlement_delay(records: Records, owner: str | None, now: datetime) -> SettlementDelay:
    """Of the runs of one owner; None: of all. Runs that ended on any node within the window."""
    found: list[Delays] = []
    after: str | None = None
    while True:
        page = await records.records(SETTLEMENT_DELAY, after=after, limit=_PAGE)
        for each in page.items:
            if each.expires is None or each.expires > now:
                found += DelayWindow.from_json(each.body).of(EVERYBODY if owner is None else owner, now)
        after = page.after
        if after is None:
            return summed_up(found)
