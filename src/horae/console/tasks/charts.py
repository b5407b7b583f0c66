"""Geometry of the charts of a task: marks of the newest outcomes, heat map of days, scatter plots on a logarithmic scale."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from math import ceil, log10
from typing import Final, NamedTuple

from ...model.run import Run, RunState
from ..outcomes import was_missed

SEVERITY: Final = ("succeeded", "skipped", "running", "cancelled", "missed", "timed_out", "failed")
"""Kinds of outcomes, the worst one last; each is a class of the style sheet and has its own shape."""
_KINDS: Final[dict[RunState, str]] = {
    RunState.SUCCEEDED: "succeeded",
    RunState.FAILED: "failed",
    RunState.LOST: "failed",
    RunState.TIMED_OUT: "timed_out",
    RunState.CANCELLED: "cancelled",
    RunState.SKIPPED: "skipped",
}
MARK_WIDTH: Final = 6
MARK_STEP: Final = 9
MARK_HEIGHT: Final = 20
CELL: Final = 14
CELL_STEP: Final = 18
HEAT_LEFT: Final = 34
HEAT_TOP: Final = 16
PLOT_WIDTH: Final = 600
PLOT_HEIGHT: Final = 150
_PLOT_LEFT: Final = 56
_PLOT_BOTTOM: Final = 20
_PLOT_TOP: Final = 8
_DAY: Final = timedelta(days=1)
_TICKS: Final = tuple(
    timedelta(milliseconds=each)
    for each in (1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 86_400_000, 864_000_000)
)


def outcome_kind(run: Run) -> str:
    """Return the kind of an outcome: the name of its shape and colour."""
    return "missed" if was_missed(run) else _KINDS.get(run.state, "running")


def mark_path(kind: str, x: float, y: float, width: float, height: float) -> str:
    """Return the path of the shape of an outcome, so that colour alone never carries meaning."""
    right, bottom = x + width, y + height
    match kind:
        case "failed":
            return f"M{x} {y}L{right} {bottom}M{right} {y}L{x} {bottom}"
        case "timed_out":
            return f"M{x} {y}H{right}L{x} {bottom}H{right}Z"
        case "missed":
            return f"M{x + width / 2:g} {y}L{right} {bottom}H{x}Z"
        case "cancelled" | "running":
            return f"M{x} {y + height / 2:g}H{right}V{bottom}H{x}Z"
        case _:
            return f"M{x} {y}H{right}V{bottom}H{x}Z"


class Mark(NamedTuple):
    """One outcome in a row of them. `x` is the left end of the area that reacts to the pointer."""

    kind: str
    path: str
    x: int
    label: str
    href: str


def outcome_marks(
    runs: Sequence[Run], label: Callable[[Run], str], href: Callable[[Run], str], places: int
) -> tuple[Mark, ...]:
    """Return the marks of runs that come newest first; the newest one is at the right end."""
    marks = []
    for number, run in enumerate(reversed(runs[:places])):
        x = number * MARK_STEP
        kind = outcome_kind(run)
        marks.append(Mark(kind, mark_path(kind, x + 1.5, 3, MARK_WIDTH, MARK_HEIGHT - 6), x, label(run), href(run)))
    return tuple(marks)


# --- heat map ------------------------------------------------------------------------------------------------------


class Day(NamedTuple):
    """Occurrences of one day by kind, and how many of them started late."""

    day: date
    counts: Mapping[str, int]
    late: int = 0

    @property
    def worst(self) -> str | None:
        return next((kind for kind in reversed(SEVERITY) if self.counts.get(kind)), None)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class Cell(NamedTuple):
    """`ring` is the frame of a day with late runs."""

    day: Day
    x: int
    y: int
    path: str | None
    ring: str | None = None


class HeatMap(NamedTuple):
    """`months` are (x, first day of the month) above the columns."""

    cells: tuple[Cell, ...]
    months: tuple[tuple[int, date], ...]
    width: int
    height: int


def final_attempts(runs: Iterable[Run]) -> list[Run]:
    """Return the last attempt of each occurrence, of runs that come newest first."""
    seen: dict[tuple[str, datetime], Run] = {}
    for run in runs:
        seen.setdefault((run.origin, run.planned), run)
    return list(seen.values())


class LocalDays:
    """Consecutive days of a zone: a search among their midnights costs a tenth of a conversion to the zone."""

    def __init__(self, first: date, last: date, tz: tzinfo) -> None:
        self._tz = tz
        self._days = [first + number * _DAY for number in range((last - first).days + 1)]
        self._midnights = [datetime.combine(day, time(), tz).astimezone(UTC) for day in (*self._days, last + _DAY)]

    def find(self, at: datetime) -> date:
        """Return the day of an instant, which may be outside these days."""
        position = bisect_right(self._midnights, at) - 1
        return self._days[position] if 0 <= position < len(self._days) else at.astimezone(self._tz).date()


def count_days(runs: Iterable[Run], first: date, last: date, local_day: Callable[[datetime], date]) -> list[Day]:
    """Count the occurrences of each day by kind; a row that stands for many counts on each day that it covers."""
    counts: dict[date, dict[str, int]] = {first + number * _DAY: {} for number in range((last - first).days + 1)}
    for run in runs:
        kind = outcome_kind(run)
        for day, number in _days_of(run, local_day):
            if day in counts:
                counts[day][kind] = counts[day].get(kind, 0) + number
    return [Day(day, found) for day, found in counts.items()]


def add_late(
    days: Iterable[Day], runs: Iterable[Run], limit: timedelta, local_day: Callable[[datetime], date]
) -> list[Day]:
    """Count the first attempts of each day that started later than the limit: a retry is late by its back-off."""
    numbers = Counter(
        local_day(run.planned)
        for run in runs
        if run.attempt == 1 and (lateness := run.lateness) is not None and lateness > limit
    )
    return [day._replace(late=numbers[day.day]) for day in days]


def _days_of(run: Run, local_day: Callable[[datetime], date]) -> list[tuple[date, int]]:
    """Return the days of a row, each with its part of the occurrences; every day that is covered has at least one."""
    if run.span is None:
        return [(local_day(run.planned), 1)]
    first, last = local_day(run.span.first), local_day(run.span.last)
    days = [first + number * _DAY for number in range((last - first).days + 1)]
    return [(day, max(1, run.span.count // len(days))) for day in days]


def heat_map(days: Sequence[Day]) -> HeatMap:
    """Return one cell per day: rows are weekdays from Monday, columns are weeks."""
    monday = days[0].day - timedelta(days=days[0].day.weekday())
    cells, months = [], []
    for each in days:
        column, row = (each.day - monday).days // 7, each.day.weekday()
        x, y = HEAT_LEFT + column * CELL_STEP, HEAT_TOP + row * CELL_STEP
        worst = each.worst
        path = None if worst is None else mark_path(worst, x + 3, y + 3, CELL - 6, CELL - 6)
        cells.append(Cell(each, x, y, path, ring_path(x, y) if each.late else None))
        if each.day.day == 1:
            months.append((x, each.day))
    columns = (days[-1].day - monday).days // 7 + 1
    return HeatMap(tuple(cells), tuple(months), HEAT_LEFT + columns * CELL_STEP, HEAT_TOP + 7 * CELL_STEP)


def ring_path(x: int, y: int) -> str:
    """Return the frame around the cell of a day."""
    left, top, right, bottom = x - 1.5, y - 1.5, x + CELL + 1.5, y + CELL + 1.5
    return f"M{left} {top}H{right}V{bottom}H{left}Z"


# --- scatter plots -------------------------------------------------------------------------------------------------


class Measured(NamedTuple):
    """One value of a plot."""

    at: datetime
    value: timedelta
    kind: str
    label: str
    href: str


class Point(NamedTuple):
    kind: str
    path: str
    x: float
    y: float
    label: str
    href: str


class Plot(NamedTuple):
    """`ticks` are (y, duration) of the horizontal lines."""

    points: tuple[Point, ...]
    ticks: tuple[tuple[float, timedelta], ...]
    first: datetime
    last: datetime


def scatter_plot(values: Sequence[Measured]) -> Plot | None:
    """Place the values on a logarithmic scale over time; None where there are none. Below 1 ms counts as 1 ms."""
    if not values:
        return None
    first, last = min(each.at for each in values), max(each.at for each in values)
    longest = max(*(each.value for each in values), _TICKS[1])
    decades = max(1.0, ceil(_log(longest) * 4) / 4)
    width, height = PLOT_WIDTH - _PLOT_LEFT - 10, PLOT_HEIGHT - _PLOT_BOTTOM - _PLOT_TOP

    def y_of(value: timedelta) -> float:
        return round(_PLOT_TOP + height * (1 - _log(value) / decades), 1)

    span = (last - first).total_seconds() or 1.0
    points = []
    for each in values:
        x = round(_PLOT_LEFT + (each.at - first).total_seconds() / span * width, 1)
        y = y_of(each.value)
        points.append(Point(each.kind, mark_path(each.kind, x - 2.5, y - 2.5, 5, 5), x, y, each.label, each.href))
    ticks = tuple((y_of(tick), tick) for tick in _TICKS if _log(tick) <= decades)
    return Plot(tuple(points), ticks, first, last)


def _log(value: timedelta) -> float:
    return log10(max(1.0, value.total_seconds() * 1_000))


def percentile(values: Sequence[timedelta], share: float) -> timedelta | None:
    """Return the value that this share of the values does not exceed."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, ceil(share * len(ordered)) - 1))]
