"""Running counts, so that an overview costs the same however long the history is: states, outcomes, lateness by the hour.

Each change says what it adds; a store sums that up within the transaction of the change. Everything is counted twice,
once for its owner and once for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from .change import Change
from .ids import microseconds
from .run import LIVE, Run
from .task import Standing

EVERYBODY: Final = ""
"""No owner is called this."""
STATE: Final = "state:"
OUTCOME: Final = "run:"
LATE: Final = "late:"
NO_HOUR: Final = 0
"""States are counted as they are now, whatever the hour."""
KEPT_HOURS: Final = 48
_HOUR: Final = 3_600_000_000
_MICROSECOND: Final = timedelta(microseconds=1)

Counts: TypeAlias = dict[tuple[int, str], int]
"""By hour and name."""


def hour_of(at: datetime) -> int:
    """Hours since 1970."""
    return microseconds(at) // _HOUR


def added(before: Standing | None, change: Change) -> Iterator[tuple[int, str, int]]:
    """What a change adds to the counts of its task's owner: hour, name, number."""
    after = None if change.deleted else change.standing or before
    if before is None or after is None or before.state is not after.state:
        if before is not None:
            yield NO_HOUR, STATE + before.state, -1
        if after is not None:
            yield NO_HOUR, STATE + after.state, 1
    for run in (*change.born, *change.moved):
        if run.state not in LIVE:
            yield from ended(run)


def ended(run: Run) -> Iterator[tuple[int, str, int]]:
    """A run that has come to its end, or was skipped from birth; a stretch counts as often as it stands for."""
    at = run.ended or run.due
    hour = microseconds(at) // _HOUR
    if run.started is None:
        reason = "" if run.reason is None else f":{run.reason}"
        yield hour, f"{OUTCOME}{run.state}{reason}", 1 if run.span is None else run.span.count
    else:
        yield hour, OUTCOME + run.state, 1
        yield hour, f"{LATE}{bucket_of(run.started - run.due)}", 1


def bucket_of(lateness: timedelta) -> int:
    """Four buckets for each doubling: no more than a fifth is lost between a lateness and its bucket's end."""
    number = max(0, lateness // _MICROSECOND)
    size = number.bit_length()
    return number if size < 3 else (size - 2) * 4 + ((number >> (size - 3)) & 3)


def bucket_end(bucket: int) -> timedelta:
    """The longest lateness that falls into it."""
    if bucket < 4:
        return timedelta(microseconds=bucket)
    size, part = bucket // 4 + 2, bucket % 4
    return timedelta(microseconds=((4 + part + 1) << (size - 3)) - 1)


class Lateness(NamedTuple):
    """How late runs started, as far as buckets can say."""

    counted: int
    on_time: int
    p50: timedelta | None
    p99: timedelta | None


def lateness_in(counts: Counts, on_time: timedelta) -> Lateness:
    buckets: dict[int, int] = {}
    for (_, name), number in counts.items():
        if name.startswith(LATE):
            bucket = int(name.removeprefix(LATE))
            buckets[bucket] = buckets.get(bucket, 0) + number
    total = sum(buckets.values())
    good = sum(number for bucket, number in buckets.items() if bucket_end(bucket) <= on_time)
    return Lateness(total, good, _quantile(buckets, total, 0.50), _quantile(buckets, total, 0.99))


def _quantile(buckets: dict[int, int], total: int, share: float) -> timedelta | None:
    seen = 0
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        if seen >= share * total:
            return bucket_end(bucket)
    return None
