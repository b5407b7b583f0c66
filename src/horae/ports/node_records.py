"""Records that nodes write about themselves: backward clock steps, the agreed lease length, and settlement delays."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Self, TypeAlias

from ..model.counts import ALL_OWNERS, bucket_end, bucket_of_microseconds, counters_key, quantile
from .records import Record, Records
from .store import DEFAULT_TERMS

CLOCK_STEP: Final = "clock_step"
_MAX_STEPS: Final = 100


class ClockStep(NamedTuple):
    """One backward step; `at` is the time after it."""

    host: str
    at: datetime
    by: timedelta

    @classmethod
    def from_json(cls, text: str) -> Self:
        body = json.loads(text)
        return cls(body["host"], datetime.fromisoformat(body["at"]), timedelta(seconds=body["seconds"]))

    def as_json(self) -> dict[str, Any]:
        return {"host": self.host, "at": self.at.isoformat(), "seconds": self.by.total_seconds()}


async def load_clock_steps(records: Records, now: datetime) -> tuple[ClockStep, ...]:
    """Return the clock steps of the last day, oldest first, one per node."""
    page = await records.records(CLOCK_STEP, limit=_MAX_STEPS)
    live = [each for each in page.items if each.expires is None or each.expires > now]
    return tuple(sorted((ClockStep.from_json(each.body) for each in live), key=lambda step: step.at))


LEASE_RECORD_KEY: Final = ("agreed", "terms")


def make_lease_record(lease: timedelta) -> Record:
    return Record(*LEASE_RECORD_KEY, "", json.dumps({"lease": lease.total_seconds()}))


def parse_lease(record: Record) -> timedelta:
    return timedelta(seconds=float(json.loads(record.body)["lease"]))


async def load_lease_record(records: Records) -> Record | None:
    """Return the record of the agreed lease; None if no node has ever joined."""
    return await records.get_record(*LEASE_RECORD_KEY)


async def load_agreed_lease(records: Records) -> timedelta:
    """Return the agreed lease length, or the standard one where none was agreed."""
    record = await load_lease_record(records)
    return DEFAULT_TERMS.lease if record is None else parse_lease(record)


SETTLEMENT_DELAY: Final = "settlement_delay"
WINDOW: Final = timedelta(minutes=5)
MAX_OWNERS: Final = 50
"""A node counts so many owners separately per minute; further ones count only towards the total of all owners."""
_MICROSECOND: Final = timedelta(microseconds=1)
_PAGE_SIZE: Final = 100
_WINDOW_MINUTES: Final = WINDOW // timedelta(minutes=1)


class SettlementDelay(NamedTuple):
    """Summary of the delays from the end of a run to the commit that records it.

    p50 and p99 are upper bucket bounds, at most a fifth too long; `longest` is exact.
    """

    counted: int = 0
    p50: timedelta | None = None
    p99: timedelta | None = None
    longest: timedelta | None = None


class DelayHistogram:
    """Histogram of the delays of one owner, or of all owners, within one minute. Delays are in microseconds."""

    __slots__ = ("buckets", "longest")

    def __init__(self, longest: int = 0, buckets: dict[int, int] | None = None) -> None:
        self.longest = longest
        self.buckets: dict[int, int] = {} if buckets is None else buckets

    def add(self, numbers: Mapping[int, int], longest: int) -> None:
        """Add the number of delays of each bucket, the longest of which took `longest`."""
        for bucket, number in numbers.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + number
        self.longest = max(self.longest, longest)


HistogramsByMinute: TypeAlias = dict[int, dict[str, DelayHistogram]]
"""Histograms by minute since 1970, then by owner."""


class DelayWindow:
    """The delays of the runs that one node settled within the window."""

    def __init__(self, minutes: HistogramsByMinute | None = None) -> None:
        self._minutes: HistogramsByMinute = {} if minutes is None else minutes

    @classmethod
    def from_json(cls, text: str) -> DelayWindow:
        minutes: HistogramsByMinute = {}
        for minute, owners in json.loads(text).items():
            minutes[int(minute)] = {
                owner: DelayHistogram(longest, {int(bucket): number for bucket, number in buckets.items()})
                for owner, (longest, buckets) in owners.items()
            }
        return cls(minutes)

    def as_json(self) -> dict[str, Any]:
        return {
            str(minute): {owner: [delays.longest, delays.buckets] for owner, delays in owners.items()}
            for minute, owners in self._minutes.items()
        }

    def add(self, ended: Iterable[tuple[str, datetime]], recorded: datetime) -> None:
        """Count the owner and end of each run whose end was committed at `recorded`."""
        minute = _minute_of(recorded)
        owners = self._minutes.get(minute)
        if owners is None:
            owners = self._minutes[minute] = {ALL_OWNERS: DelayHistogram()}
            self._drop_outside_window(minute)
        overall = owners[ALL_OWNERS]
        delays: defaultdict[str, list[int]] = defaultdict(list)
        for owner, at in ended:
            delays[owner].append((recorded - at) // _MICROSECOND)
        for owner, found in delays.items():
            # After the clock was set back, a delay would be negative.
            numbers, longest = Counter(map(bucket_of_microseconds, found)), max(0, *found)
            overall.add(numbers, longest)
            own = owners.get(owner)
            if own is None and len(owners) <= MAX_OWNERS:
                own = owners[owner] = DelayHistogram()
            if own is not None and own is not overall:
                own.add(numbers, longest)

    def of(self, owner: str, now: datetime) -> list[DelayHistogram]:
        """Return the histograms of an owner within the window that ends now."""
        first = _minute_of(now) - _WINDOW_MINUTES
        return [owners[owner] for minute, owners in self._minutes.items() if minute > first and owner in owners]

    def _drop_outside_window(self, minute: int) -> None:
        """Drop minutes before the window and, after the clock was set back, minutes ahead of it."""
        for other in [other for other in self._minutes if not minute - _WINDOW_MINUTES < other <= minute]:
            del self._minutes[other]


def _minute_of(at: datetime) -> int:
    return int(at.timestamp() // 60)


def summarize_delays(histograms: Iterable[DelayHistogram]) -> SettlementDelay:
    buckets: dict[int, int] = {}
    longest = 0
    for delays in histograms:
        longest = max(longest, delays.longest)
        for bucket, number in delays.buckets.items():
            buckets[bucket] = buckets.get(bucket, 0) + number
    counted = sum(buckets.values())
    if not counted:
        return SettlementDelay()
    longest_delay = longest * _MICROSECOND
    p50, p99 = (min(longest_delay, bucket_end(quantile(buckets, counted, share))) for share in (0.50, 0.99))
    return SettlementDelay(counted, p50, p99, longest_delay)


async def load_settlement_delay(records: Records, owner: str | None, now: datetime) -> SettlementDelay:
    """Sum up the delays of runs that ended on any node within the window, of one owner or (None) of all."""
    histograms: list[DelayHistogram] = []
    after: str | None = None
    while True:
        page = await records.records(SETTLEMENT_DELAY, after=after, limit=_PAGE_SIZE)
        for each in page.items:
            if each.expires is None or each.expires > now:
                histograms += DelayWindow.from_json(each.body).of(counters_key(owner), now)
        after = page.after
        if after is None:
            return summarize_delays(histograms)
