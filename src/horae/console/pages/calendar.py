"""Calendar page: past outcomes and planned runs of a month, a week or a day, in the zone of the viewer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from math import ceil, log
from typing import Any, Final, NamedTuple, TypeAlias

from starlette.responses import Response

from ...model.counts import HourSummary
from ...service.runs.planned import PlannedCounts, PlannedRun
from ..calendar_grid import VIEWS, Change, Day, Period, find_changes, make_period, parse_day, parse_view
from ..formats import NOTHING
from ..messages import TEXTS
from ..page import PageRequest, page
from ..viewer import Viewer
from .now import OUTCOME_KINDS, count_kinds

PATH: Final = "/calendar"
_WORST_FIRST: Final = ("failed", "missed", "skipped", "succeeded")
_SHAPES: Final = {"succeeded": "✓", "failed": "✕", "missed": "△", "skipped": "⊘", "planned": "○"}
_LEVELS: Final = 4
_MAX_LISTED: Final = 500
_MAX_TASKS: Final = 10
"""Tasks that an hour of the day view names."""
_MAX_TIMES: Final = 4
"""Instants of one task that an hour of the day view lists."""
_THOUSAND: Final = 1_000
_MILLION: Final = 1_000_000
_SECOND: Final = timedelta(seconds=1)


class Cell(NamedTuple):
    """One day or hour: its numbers by kind, planned ones included, and how it is drawn."""

    since: datetime
    until: datetime
    numbers: Mapping[str, int]
    level: int
    label: str
    href: str

    @property
    def total(self) -> int:
        return sum(self.numbers.values())

    @property
    def worst(self) -> str:
        """Kind of the worst outcome; `planned` where nothing has ended, empty where there is nothing."""
        return next((kind for kind in (*_WORST_FIRST, "planned") if self.numbers.get(kind)), "")


async def show(request: PageRequest) -> Response:
    return request.render("calendar.html", await load(request))


async def load(request: PageRequest) -> dict[str, Any]:
    """Return the data of the page: one read of the counters, and the planned runs."""
    query, viewer = request.request.query_params, request.viewer
    today = viewer.now.astimezone(viewer.tz).date()
    period = make_period(parse_view(query.get("view")), viewer.zone, parse_day(query.get("date"), today))
    links = _Links(viewer, period, query.get("tz"))
    bounds = _bounds(period)
    outcomes = await _load_outcomes(request, period)
    planned = await _load_planned(request, bounds)
    cells = _make_cells(links, bounds, _count_periods(bounds, outcomes, planned))
    changes = find_changes(viewer.zone, period.since, period.until)
    by_day = {day.date: [each for each in cells if day.since <= each.since < day.until] for day in period.days}
    return {
        "page": "calendar",
        "period": period,
        "views": VIEWS,
        "links": links,
        "title": _title(viewer, period),
        "today": today,
        "cells": by_day,
        "shapes": _SHAPES,
        "kinds": (*OUTCOME_KINDS, "planned"),
        "is_empty": not any(cell.total for cell in cells),
        "is_partial": planned.is_partial,
        "day_name": lambda day: day_name(viewer, day),
        "compact": compact,
        "hour_name": lambda at: hour_name(viewer, at),
        "rows": rows_of_week(period, by_day, viewer) if period.view == "week" else [],
        "anchor": lambda at: hour_anchor(viewer, at),
        "changes": changes,
        "change_days": {day.date for day in period.days if any(day.since <= each.at < day.until for each in changes)},
        "change_text": lambda change: _change_text(viewer, change),
        "affected": await _load_affected(request, period),
        "feeds": await request.service.calendar_tokens.all(viewer.principal),
        "feed_address": None,
        "feed_problem": None,
        "feed_name": "",
        "listed": await _load_listed(request, period),
        "max_tasks": _MAX_TASKS,
        "max_times": _MAX_TIMES,
        "time_of_day": lambda at: time_of_day(viewer, at),
    }


class _Links(NamedTuple):
    """URLs of the calendar that keep the zone of the page."""

    viewer: Viewer
    period: Period
    given_zone: str | None

    @property
    def zone(self) -> str | None:
        return self.given_zone if self.given_zone == self.viewer.zone else None

    def view(self, view: str, day: date, anchor: str = "") -> str:
        return self.viewer.url(PATH, view=view, date=day.isoformat(), tz=self.zone) + anchor

    def runs(self, since: datetime, until: datetime) -> str:
        return self.viewer.url("/runs", since=since.isoformat(), until=until.isoformat(), tz=self.zone)


# --- data ------------------------------------------------------------------------------------------------------------


def _bounds(period: Period) -> list[datetime]:
    """Return the begins of all days of a month, or of all hours of a week or day, and the end."""
    if period.view == "month":
        begins = [day.since for day in period.days]
    else:
        begins = [hour for day in period.days for hour in day.hours]
    # A date that a zone has left out has no length.
    return sorted({*begins, period.until})


async def _load_outcomes(request: PageRequest, period: Period) -> tuple[HourSummary, ...]:
    now = request.viewer.now
    if period.since >= min(period.until, now):
        return ()
    return await request.service.overview.hours(
        request.viewer.principal, period.since, min(period.until, now + _SECOND)
    )


async def _load_planned(request: PageRequest, bounds: Sequence[datetime]) -> PlannedCounts:
    """Count what is planned, from the period that contains now on."""
    now = request.viewer.now
    coming = bounds[max(0, bisect_right(bounds, now) - 1) :]
    if len(coming) < 2:
        return PlannedCounts(())
    return await request.service.planned.per_period(request.viewer.principal, coming)


async def _load_listed(request: PageRequest, period: Period) -> dict[datetime, list[list[PlannedRun]]]:
    """Return the planned runs of a day view by hour, and within it by task."""
    if period.view != "day" or period.until <= request.viewer.now:
        return {}
    found = await request.service.planned.list(request.viewer.principal, period.since, period.until, _MAX_LISTED)
    hours = period.days[0].hours
    by_hour: dict[datetime, dict[str, list[PlannedRun]]] = {}
    for run in found.items:
        tasks = by_hour.setdefault(hours[bisect_right(hours, run.due) - 1], {})
        tasks.setdefault(run.task.id, []).append(run)
    return {hour: list(tasks.values()) for hour, tasks in by_hour.items()}


async def _load_affected(request: PageRequest, period: Period) -> list[tuple[str, str, str]]:
    """Return id, name and sentence of the tasks that a clock change to come affects."""
    now, viewer = request.viewer.now, request.viewer
    if period.until <= now:
        return []
    found = await request.service.planned.clock_changes(
        viewer.principal, max(period.since, now.replace(minute=0, second=0, microsecond=0)), period.until
    )
    return [(each.task.id, each.task.name, each.warning.sentences[viewer.language]) for each in found]


# --- cells -----------------------------------------------------------------------------------------------------------


def _count_periods(
    bounds: Sequence[datetime], outcomes: Sequence[HourSummary], planned: PlannedCounts
) -> list[dict[str, int]]:
    """Return the numbers of each period by kind. An hour of the counters belongs to the period in which it begins."""
    numbers = [dict.fromkeys((*OUTCOME_KINDS, "planned"), 0) for _ in bounds[1:]]
    for hour in outcomes:
        place = max(0, bisect_right(bounds, hour.at) - 1)
        if place < len(numbers):
            for kind, number in count_kinds(hour.outcomes).items():
                numbers[place][kind] += number
    for period in planned.periods:
        numbers[bisect_right(bounds, period.since) - 1]["planned"] += period.number
    return numbers


def _make_cells(links: _Links, bounds: Sequence[datetime], numbers: Sequence[Mapping[str, int]]) -> list[Cell]:
    most = max((sum(each.values()) for each in numbers), default=0)
    return [
        Cell(since, until, each, heat_level(sum(each.values()), most), *_describe(links, since, until, each))
        for (since, until), each in zip(pairwise(bounds), numbers, strict=True)
    ]


def heat_level(number: int, most: int) -> int:
    """Return 0 for nothing, else 1 to 4 on a logarithmic scale: one busy day must not make all others look idle."""
    return ceil(_LEVELS * log(1 + number) / log(1 + most)) if number and most else 0


def _describe(links: _Links, since: datetime, until: datetime, numbers: Mapping[str, int]) -> tuple[str, str]:
    """Return the label and the link of a cell."""
    viewer = links.viewer
    local = since.astimezone(viewer.tz)
    parts = [f"{number} {TEXTS[kind].in_language(viewer.language)}" for kind, number in numbers.items() if number]
    content = ", ".join(parts) or TEXTS["calendar_nothing"].in_language(viewer.language)
    if links.period.view == "month":
        return f"{day_name(viewer, local.date())}: {content}", links.view("day", local.date())
    label = f"{day_name(viewer, local.date())} {local:%H:%M}: {content}"
    if numbers["planned"]:
        return label, links.view("day", local.date(), f"#{hour_anchor(viewer, since)}")
    return label, links.runs(since, until)


# --- texts -----------------------------------------------------------------------------------------------------------


def _title(viewer: Viewer, period: Period) -> str:
    if period.view == "month":
        month = TEXTS[f"calendar_month_{period.chosen.month}"]
        return TEXTS["calendar_month_title"].in_language(viewer.language, month=month, year=period.chosen.year)
    if period.view == "day":
        return day_name(viewer, period.chosen)
    return f"{day_name(viewer, period.days[0].date)} – {day_name(viewer, period.days[-1].date)}"


def day_name(viewer: Viewer, day: date) -> str:
    """Return a date with its weekday: `Tue 17 Nov 2026`, `2026年11月17日 周二`."""
    weekday = TEXTS[f"calendar_weekday_{day.weekday()}"]
    month = TEXTS[f"calendar_month_short_{day.month}"]
    facts = {"weekday": weekday, "day": day.day, "month": month, "year": day.year}
    return TEXTS["calendar_day_name"].in_language(viewer.language, **facts)


def hour_name(viewer: Viewer, at: datetime) -> str:
    return f"{at.astimezone(viewer.tz):%H:%M}"


def time_of_day(viewer: Viewer, at: datetime) -> str:
    local = at.astimezone(viewer.tz)
    return f"{local:%H:%M:%S}" if local.second or local.microsecond else f"{local:%H:%M}"


def hour_anchor(viewer: Viewer, at: datetime) -> str:
    """Return the id of an hour in the day view; a repeated hour has one of its own."""
    local = at.astimezone(viewer.tz)
    return f"h{local:%H%M}{'-again' if local.fold else ''}"


def _change_text(viewer: Viewer, change: Change) -> str:
    name = "calendar_forward" if change.after > change.before else "calendar_back"
    return TEXTS[name].in_language(
        viewer.language,
        zone=viewer.zone,
        day=day_name(viewer, change.before.date()),
        before=f"{change.before:%H:%M}",
        after=f"{change.after:%H:%M}",
    )


def compact(number: int) -> str:
    """Return a number in at most four characters: `950`, `1.2k`, `38k`, `4M`."""
    if not number:
        return NOTHING
    if number < _THOUSAND:
        return str(number)
    size, unit = (_THOUSAND, "k") if number < _MILLION else (_MILLION, "M")
    amount = number / size
    return f"{amount:.1f}{unit}" if amount < 9.95 and number % size else f"{int(amount)}{unit}"


WeekRow: TypeAlias = tuple[str, list[tuple[Day, list[Cell]]]]


def rows_of_week(period: Period, cells: Mapping[date, Sequence[Cell]], viewer: Viewer) -> list[WeekRow]:
    """Return the rows of a week: the wall hour, and for each day the cells of that hour (none or two at clock changes)."""
    rows: list[WeekRow] = []
    for hour in range(24):
        places = [
            (day, [cell for cell in cells[day.date] if cell.since.astimezone(viewer.tz).hour == hour])
            for day in period.days
        ]
        rows.append((f"{hour:02}:00", places))
    return rows


ROUTES: Final = (page(PATH, show),)
