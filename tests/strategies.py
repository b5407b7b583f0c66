"""Hypothesis strategies for schedules: every kind, with every modifier."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from hypothesis import strategies as st

from horae import InvalidSchedule
from horae.schedule import AnyOf, Calendar, Cron, Every, Hours, Now, NthWeekday, Once, RRule, Schedule

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Asia/Shanghai",
    "Africa/Casablanca",
    "Pacific/Apia",
    "America/Santiago",
    "EST",
    "GMT",
    "CST6CDT",
    "Etc/GMT+5",
)
EXPRESSIONS = (
    "0 9 * * 1-5",
    "*/5 * * * *",
    "*/7 */3 * * *",
    "30 2 * * *",
    "15 0 1,15 * MON",
    "0 0 L * *",
    "30 0 0 L * 5#2",
    "1-5,7 */2 LW 2-5 *",
    "0 12 15W * *",
    "0 12 L-2,1 * *",
    "*/10 0 */4 L-5 * 1#1,5#L",
    "0 1 */2 * 5L",
    "*/20 30 1 * * *",
    "0 0 29 2 *",
)
RULES = (
    "FREQ=DAILY;INTERVAL=3",
    "FREQ=WEEKLY;BYDAY=MO,WE,FR",
    "FREQ=MONTHLY;BYDAY=-1FR",
    "FREQ=MONTHLY;BYMONTHDAY=31",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=HOURLY;INTERVAL=5",
    "FREQ=DAILY;COUNT=40",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
)

zones = st.sampled_from(ZONES)
dates = st.dates(date(1980, 1, 1), date(2100, 1, 1))
exact_walls = st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1))
walls = exact_walls.map(lambda moment: moment.replace(microsecond=0))
instants = st.datetimes(datetime(1975, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))
moments = st.one_of(dates, walls, instants)
times = st.times().map(lambda moment: moment.replace(microsecond=0))
weekdays = st.integers(0, 6)
month_days = st.one_of(
    st.integers(1, 31),
    st.integers(-31, -1),
    st.builds(NthWeekday, weekdays, st.sampled_from([1, 2, 3, 4, 5, -1, -2, -3, -4, -5])),
)


def seconds(lowest: int, highest: int) -> st.SearchStrategy[timedelta]:
    return st.integers(lowest, highest).map(lambda amount: timedelta(seconds=amount))


def milliseconds(highest: int) -> st.SearchStrategy[timedelta]:
    """At least one, mostly whole seconds."""
    fine = st.integers(1, highest).map(lambda amount: timedelta(milliseconds=amount))
    return st.one_of(seconds(1, highest // 1000), seconds(1, highest // 1000), fine)


modifiers = st.fixed_dictionaries(
    {},
    optional={
        "zone": zones,
        "start": moments,
        "end": moments,
        "repeat": st.integers(1, 10**9),
        "counting": st.sampled_from(["run", "planned"]),
        "jitter": milliseconds(86_400_000),
        "gap": st.sampled_from(["next", "shift", "skip"]),
        "fold": st.sampled_from(["first", "last", "both"]),
    },
)


@st.composite
def calendar_parts(draw: st.DrawFn) -> dict[str, Any]:
    unit = draw(st.sampled_from(["day", "week", "month", "year"]))
    parts: dict[str, Any] = {"unit": unit, "every": draw(st.integers(1, 5))}
    if unit == "week":
        parts["on"] = tuple(draw(st.sets(weekdays, min_size=1)))
    elif unit != "day":
        parts["on"] = tuple(draw(st.lists(month_days, min_size=1, max_size=4)))
    if unit == "year" or draw(st.booleans()):
        parts["months"] = tuple(draw(st.sets(st.integers(1, 12), min_size=1)))
    if draw(st.booleans()):
        parts["exclude"] = tuple(draw(st.lists(dates, max_size=3)))
    if draw(st.booleans()):
        parts["at"] = tuple(draw(st.lists(times, min_size=1, max_size=4)))
    else:
        parts["hours"] = Hours(draw(times), draw(times), tuple(sorted(draw(st.sets(weekdays)))))
        parts["step"] = draw(seconds(1, 86_400))
    return parts


@st.composite
def schedules(draw: st.DrawFn, given: st.SearchStrategy[dict[str, Any]] = modifiers) -> Schedule | None:
    """Any schedule; None where the drawn values are refused (an empty window, days that never come)."""
    if draw(st.integers(0, 6)) == 0:
        return draw(lists(given))
    return draw(single_schedules(given))


@st.composite
def single_schedules(draw: st.DrawFn, given: st.SearchStrategy[dict[str, Any]] = modifiers) -> Schedule | None:
    """Any schedule that is no list."""
    chosen = draw(given)
    kind = draw(st.sampled_from(["now", "once", "every", "cron", "calendar", "rrule"]))
    if kind in ("now", "once") and "repeat" in chosen:
        chosen |= {"repeat": 1}  # more than one is refused for these kinds
    try:
        match kind:
            case "now":
                return Now(**chosen)
            case "once":
                return Once(draw(st.one_of(walls, exact_walls, instants)), **chosen)
            case "every":
                return Every(draw(milliseconds(10**10)), draw(st.sampled_from(["grid", "end"])), **chosen)
            case "cron":
                return Cron(draw(st.sampled_from(EXPRESSIONS)), **chosen)
            case "rrule":
                return RRule(draw(st.sampled_from(RULES)), tuple(draw(st.lists(moments, max_size=3))), **chosen)
            case _:
                return Calendar(**draw(calendar_parts()), **chosen)
    except InvalidSchedule:
        return None


part_modifiers = st.fixed_dictionaries(
    {},
    optional={
        "zone": zones,
        "gap": st.sampled_from(["next", "shift", "skip"]),
        "fold": st.sampled_from(["first", "last", "both"]),
    },
)


@st.composite
def lists(draw: st.DrawFn, given: st.SearchStrategy[dict[str, Any]] = modifiers) -> Schedule | None:
    """A list of schedules; None where the drawn values are refused."""
    own = draw(st.sampled_from([st.just({}), part_modifiers]))
    drawn = draw(st.lists(single_schedules(own), min_size=2, max_size=5))
    parts = [
        replace(part, since="grid") if isinstance(part, Every) else part
        for part in (each for each in drawn if each is not None)
    ]
    try:
        return AnyOf(tuple(parts), **draw(given))
    except InvalidSchedule:
        return None


NOON = time(12)
