"""Request of a forecast: task requests, durations of their runs, span, lane limits and capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from ..model.lanes.rate import Rate
from ..model.refusals import refuse
from ..model.text.field_checks import check_duration, check_number
from ..schedule.zones import find_zone
from ..service.tasks.task_request import Duration, TaskRequest, read_duration

LONGEST_SPAN: Final = timedelta(days=3660)
_LONGEST_RUN: Final = timedelta(days=30)
_MOST_IN_LANE: Final = 1_000_000


class Candidate(NamedTuple):
    """A task request and the duration of one run; None: the default duration of the forecast.

    `id` is the id of the task where it comes from a store: others of the store name it by that.
    """

    request: TaskRequest
    takes: Duration | None = None
    id: str | None = None


class ForecastRequest(NamedTuple):
    """Everything that a forecast depends on: equal requests have equal reports."""

    task_requests: tuple[TaskRequest, ...]
    takes: tuple[timedelta, ...]
    start: datetime
    end: datetime
    zone: str
    lanes: Mapping[str, int]
    capacity: int
    most: int
    every_run: bool
    rates: Mapping[str, Rate]
    ids: tuple[str | None, ...] = ()
    """Ids of the tasks in the store that they come from; empty: of none."""


def read_takes(candidates: Sequence[Candidate | TaskRequest], usual: Duration) -> tuple[timedelta, ...]:
    return tuple(_read_duration(each.takes if isinstance(each, Candidate) else None, usual) for each in candidates)


def _read_duration(given: Duration | None, usual: Duration) -> timedelta:
    takes = read_duration("takes", usual if given is None else given)
    check_duration("takes", takes, _LONGEST_RUN, least=timedelta(0))
    return takes


def read_span(start: datetime, span: Duration) -> tuple[datetime, datetime]:
    """Start and end in UTC."""
    if start.tzinfo is None:
        raise refuse("naive_instant", value=start)
    length = read_duration("span", span)
    check_duration("span", length, LONGEST_SPAN)
    begin = start.astimezone(UTC)
    return begin, begin + length


def check_limits(zone: str, lanes: Mapping[str, int], capacity: int, most: int, most_rows: int) -> None:
    find_zone(zone)
    for name, limit in lanes.items():
        check_number(f"lane {name}", limit, 1, _MOST_IN_LANE)
    check_number("capacity", capacity, 1, _MOST_IN_LANE)
    check_number("most", most, 1, most_rows)
