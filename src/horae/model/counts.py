"""Running counts, so that an overview costs the same however long the history is: states, outcomes, lateness by the hour.

Each change says what it adds; a store sums that up within the transaction of the change. Everything is counted twice,
once for its owner and once for everybody.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias

from .change import Change
from .lane import agent_in
from .run import LIVE, Run, RunState
from .task import Standing, TaskState

EVERYBODY: Final = ""
"""No owner is called this."""
STATE: Final = "state:"
OUTCOME: Final = "run:"
LATE: Final = "late:"
AGENT: Final = "agent:"
"""Runs of all tasks in an agent's lane, whatever became of them."""
NO_HOUR: Final = 0
"""States are counted as they are now, whatever the hour."""
KEPT_HOURS: Final = 48
_MICROSECOND: Final = timedelta(microseconds=1)
_MOST_BUCKETS: Final = 256
"""Beyond the longest lateness that there can be."""
# Names are made once: every run that ends is counted here.
_STATES: Final = {state: STATE + state for state in TaskState}
_OUTCOMES: Final = {state: OUTCOME + state for state in RunState}
SUCCEEDED: Final = _OUTCOMES[RunState.SUCCEEDED]
_LATENESSES: Final = tuple(f"{LATE}{bucket}" for bucket in range(_MOST_BUCKETS))

Counts: TypeAlias = dict[tuple[int, str], int]
"""By hour and name."""


def hour_of(at: datetime) -> int:
    """Hours since 1970."""
    return int(at.timestamp() // 3600)


def added(before: Standing | None, change: Change) -> list[tuple[int, str, int]]:
    """What a change adds to the counts of its task's owner: hour, name, number."""
    found: list[tuple[int, str, int]] = []
    after = None if change.deleted else change.standing or before
    if before is None or after is None or before.state is not after.state:
        if before is not None:
            found.append((NO_HOUR, _STATES[before.state], -1))
        if after is not None:
            found.append((NO_HOUR, _STATES[after.state], 1))
    for run in change.born:
        if run.state not in LIVE:
            _end(run, found)
    for run in change.moved:
        if run.state not in LIVE:
            _end(run, found)
    return found


def _end(run: Run, found: list[tuple[int, str, int]]) -> None:
    """A run that has come to its end, or was skipped from birth; a stretch counts as often as it stands for."""
    hour = hour_of(run.ended or run.due)
    if run.started is None:
        reason = "" if run.reason is None else f":{run.reason}"
        found.append((hour, f"{_OUTCOMES[run.state]}{reason}", 1 if run.span is None else run.span.count))
    else:
        found.append((hour, _OUTCOMES[run.state], 1))
        found.append((hour, _LATENESSES[bucket_of(run.started - run.due)], 1))
        for lane in run.lanes:
            agent = agent_in(run.owner, lane)
            if agent is not None:
                found.append((hour, AGENT + agent, 1))


def bucket_of(lateness: timedelta) -> int:
    """Four buckets for each doubling: no more than a fifth is lost between a lateness and its bucket's end."""
    return bucket_of_microseconds(lateness // _MICROSECOND)


def bucket_of_microseconds(lateness: int) -> int:
    """The same for microseconds."""
    if lateness < 4:
        return max(0, lateness)
    size = lateness.bit_length()
    return (size - 2) * 4 + ((lateness >> (size - 3)) & 3)


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
    if not total:
        return Lateness(0, 0, None, None)
    p50, p99 = (bucket_end(quantile(buckets, total, share)) for share in (0.50, 0.99))
    return Lateness(total, good, p50, p99)


def quantile(buckets: dict[int, int], total: int, share: float) -> int:
    """The bucket up to which this share of all lies; `total` is the sum of the buckets, at least 1."""
    numbers = accumulate(buckets[bucket] for bucket in sorted(buckets))
    reached = sum(number < share * total for number in numbers)
    return sorted(buckets)[reached]
