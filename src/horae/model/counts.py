"""Hourly counters of task states, run outcomes and lateness, so that the cost of an overview does not grow with the history.

Each change yields deltas, which a store adds up in the transaction of the change: once for the owner of the task and
once for all owners, or for all system tasks.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias

from .accounts.system_owner import EVERY_OWNER, EVERY_SYSTEM_OWNER, is_system_owner
from .change import Change
from .lanes.lane import agent_of_lane
from .run import LIVE_STATES, Run, RunState
from .task import TaskState, TaskStatus

ALL_OWNERS: Final = ""
"""Key of the counters over all owners; no owner has this name. Those over all system tasks have their scope as key."""
STATE_PREFIX: Final = "state:"
OUTCOME_PREFIX: Final = "run:"
LATENESS_PREFIX: Final = "late:"
AGENT_PREFIX: Final = "agent:"
"""Runs of all tasks in an agent's lane, whatever their outcome."""
NO_HOUR: Final = 0
"""Hour of state counters: they hold current numbers, not hourly ones."""
RETAINED_HOURS: Final = 48
OUTCOME_RETAINED_HOURS: Final = 62 * 24
"""Outcomes are kept longer, for the calendar: they have few names in an hour, and lateness has many."""
SWEPT_HOURS: Final = 6
"""Hours before the retained ones in which a store looks for other counters than outcomes: it sweeps every hour. What is
left because no run ended for longer goes with the outcomes of its hour."""
_MICROSECOND: Final = timedelta(microseconds=1)
_MAX_BUCKETS: Final = 256
"""Larger than the bucket of the longest possible lateness."""
# Counter names are built once, since every run that ends looks them up.
_STATE_NAMES: Final = {state: STATE_PREFIX + state for state in TaskState}
_OUTCOME_NAMES: Final = {state: OUTCOME_PREFIX + state for state in RunState}
SUCCEEDED_COUNTER: Final = _OUTCOME_NAMES[RunState.SUCCEEDED]
_LATENESS_NAMES: Final = tuple(f"{LATENESS_PREFIX}{bucket}" for bucket in range(_MAX_BUCKETS))

Counts: TypeAlias = dict[tuple[int, str], int]
"""Numbers by hour and counter name."""


def total_owner(owner: str) -> str:
    """Return the key of the totals that the counters of an owner, or of a scope, belong to."""
    return EVERY_SYSTEM_OWNER if is_system_owner(owner) else ALL_OWNERS


def counters_key(owner: str | None) -> str:
    """Return the key of the counters of an owner or a scope; None: of all owners."""
    return ALL_OWNERS if owner is None or owner == EVERY_OWNER else owner


def hour_of(at: datetime) -> int:
    """Return the hours since 1970."""
    return int(at.timestamp() // 3600)


def counter_deltas(before: TaskStatus | None, change: Change) -> list[tuple[int, str, int]]:
    """Return the counter deltas of a change as (hour, counter name, number)."""
    deltas: list[tuple[int, str, int]] = []
    after = None if change.deleted else change.status or before
    if before is None or after is None or before.state is not after.state:
        if before is not None:
            deltas.append((NO_HOUR, _STATE_NAMES[before.state], -1))
        if after is not None:
            deltas.append((NO_HOUR, _STATE_NAMES[after.state], 1))
    for run in change.new_runs:
        if run.state not in LIVE_STATES:
            _append_end(run, deltas)
    for run in change.updated_runs:
        if run.state not in LIVE_STATES:
            _append_end(run, deltas)
    return deltas


def _append_end(run: Run, deltas: list[tuple[int, str, int]]) -> None:
    """Append the deltas of a run that ended or was created as skipped; a row with a span counts all its occurrences."""
    hour = hour_of(run.ended or run.due)
    if run.started is None:
        reason = "" if run.reason is None else f":{run.reason}"
        deltas.append((hour, f"{_OUTCOME_NAMES[run.state]}{reason}", 1 if run.span is None else run.span.count))
    else:
        deltas.append((hour, _OUTCOME_NAMES[run.state], 1))
        deltas.append((hour, _LATENESS_NAMES[bucket_of(run.started - run.due)], 1))
        for lane in run.lanes:
            agent = agent_of_lane(run.owner, lane)
            if agent is not None:
                deltas.append((hour, AGENT_PREFIX + agent, 1))


def bucket_of(lateness: timedelta) -> int:
    """Return the histogram bucket of a lateness. Four buckets per doubling: a bucket's end is at most a fifth too long."""
    return bucket_of_microseconds(lateness // _MICROSECOND)


def bucket_of_microseconds(lateness: int) -> int:
    """Return the histogram bucket of a lateness in microseconds."""
    if lateness < 4:
        return max(0, lateness)
    size = lateness.bit_length()
    return (size - 2) * 4 + ((lateness >> (size - 3)) & 3)


def bucket_end(bucket: int) -> timedelta:
    """Return the longest lateness that falls into a bucket."""
    if bucket < 4:
        return timedelta(microseconds=bucket)
    size, part = bucket // 4 + 2, bucket % 4
    return timedelta(microseconds=((4 + part + 1) << (size - 3)) - 1)


class Lateness(NamedTuple):
    """Start lateness of runs, at the resolution of the buckets: number of runs, number on time, quantiles."""

    total: int
    on_time: int
    p50: timedelta | None
    p99: timedelta | None


def summarize_lateness(counts: Counts, on_time: timedelta) -> Lateness:
    buckets: dict[int, int] = {}
    for (_, name), number in counts.items():
        if name.startswith(LATENESS_PREFIX):
            bucket = int(name.removeprefix(LATENESS_PREFIX))
            buckets[bucket] = buckets.get(bucket, 0) + number
    total = sum(buckets.values())
    punctual = sum(number for bucket, number in buckets.items() if bucket_end(bucket) <= on_time)
    if not total:
        return Lateness(0, 0, None, None)
    p50, p99 = (bucket_end(quantile(buckets, total, share)) for share in (0.50, 0.99))
    return Lateness(total, punctual, p50, p99)


class HourSummary(NamedTuple):
    """Runs that ended in one hour: `at` is its begin, `outcomes` counts by state, or by state and reason."""

    at: datetime
    outcomes: dict[str, int]
    lateness: Lateness


def summarize_hours(counts: Counts, hours: Iterable[int], on_time: timedelta) -> tuple[HourSummary, ...]:
    """Return a summary of each hour, also of those without runs."""
    by_hour: dict[int, Counts] = {hour: {} for hour in hours}
    for (hour, name), number in counts.items():
        if hour in by_hour:
            by_hour[hour][hour, name] = number
    return tuple(
        HourSummary(
            datetime.fromtimestamp(hour * 3600, UTC),
            {
                name.removeprefix(OUTCOME_PREFIX): number
                for (_, name), number in sorted(own.items())
                if name.startswith(OUTCOME_PREFIX)
            },
            summarize_lateness(own, on_time),
        )
        for hour, own in by_hour.items()
    )


def quantile(buckets: dict[int, int], total: int, share: float) -> int:
    """Return the bucket up to which this share of all runs lies; `total` is the sum of the buckets, at least 1."""
    numbers = accumulate(buckets[bucket] for bucket in sorted(buckets))
    reached = sum(number < share * total for number in numbers)
    return sorted(buckets)[reached]
