"""Schedule values built in code: wrong types are refused, and equality, copies and hashes hold."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest

import horae
from horae.schedule import Calendar, Cron, Every, Hours, Now, NthWeekday, Once, RRule, Schedule

NINE = (time(9),)


# Untyped, as called by code without a type checker.
cron: Any = Cron
every: Any = Every
once: Any = Once
rrule: Any = RRule
calendar: Any = Calendar


@pytest.mark.parametrize(
    "build",
    [
        lambda: cron(None),
        lambda: cron(5),
        lambda: cron(["0 9 * * *"]),
        lambda: cron("0 9 * * *", zone=5),
        lambda: cron("0 9 * * *", zone=["UTC"]),
        lambda: cron("0 9 * * *", repeat="3"),
        lambda: cron("0 9 * * *", repeat=True),
        lambda: cron("0 9 * * *", jitter=5),
        lambda: cron("0 9 * * *", start="2026-01-01"),
        lambda: cron("0 9 * * *", gap=["next"]),
        lambda: every("5m"),
        lambda: every(timedelta(0)),
        lambda: every(timedelta(days=10**6)),
        lambda: every(timedelta(minutes=1), "middle"),
        lambda: once(date(2026, 1, 1)),
        lambda: once("2026-01-01"),
        lambda: once(datetime(1, 1, 1)),
        lambda: rrule(None),
        lambda: rrule("FREQ=DAILY", "2026-01-01"),
        lambda: rrule("FREQ=DAILY", ("2026-01-01",)),
        lambda: calendar(at="09:00"),
        lambda: calendar(at=("09:00",)),
        lambda: calendar(at=(time(9, tzinfo=UTC),)),
        lambda: calendar(unit="week", on="MON", at=NINE),
        lambda: calendar(unit="week", on=("MON",), at=NINE),
        lambda: calendar(unit="week", on=(7,), at=NINE),
        lambda: calendar(unit=["day"], at=NINE),
        lambda: calendar(every="2", at=NINE),
        lambda: calendar(months=("July",), at=NINE),
        lambda: calendar(exclude=("2026-12-25",), at=NINE),
        lambda: calendar(exclude=(datetime(2026, 12, 25),), at=NINE),
        lambda: calendar(hours={"from": "09:00"}, step=timedelta(minutes=5)),
        lambda: calendar(hours=Hours(time(9), time(10)), step="5m"),
        lambda: calendar(unit="month", on=(NthWeekday(9, 1),), at=NINE),
    ],
)
def test_wrong_types_are_refused(build: Callable[[], Schedule]) -> None:
    with pytest.raises(horae.InvalidSchedule):
        build()


VALUES: list[Schedule] = [
    Now(),
    Once(datetime(2026, 1, 1), zone="UTC"),
    Every(timedelta(minutes=5), "end"),
    Cron("0 9 * * 1-5", zone="Europe/Berlin", repeat=3),
    Calendar(unit="month", on=(-1, NthWeekday(4, 2)), at=NINE, zone="UTC"),
    RRule("FREQ=DAILY;COUNT=3", (date(2026, 1, 2),), start=datetime(2026, 1, 1, 9), zone="UTC"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.kind)
def test_copies_are_equal_and_answer_alike(value: Schedule) -> None:
    after = datetime(2025, 12, 31, tzinfo=UTC)
    fires = horae.preview(value, zone="UTC", after=after)
    copies: list[Any] = [copy.copy(value), copy.deepcopy(value), replace(value)]
    for twin in copies:
        assert twin == value
        assert hash(twin) == hash(value)
        assert horae.preview(twin, zone="UTC", after=after) == fires


def test_copy_with_another_zone_drops_cached_values() -> None:
    value = Cron("0 9 * * *", zone="UTC")
    after = datetime(2026, 1, 1, tzinfo=UTC)
    assert horae.preview(value, after=after, limit=1) == [datetime(2026, 1, 1, 9, tzinfo=UTC)]
    moved = replace(value, zone="Asia/Shanghai")
    assert horae.preview(moved, after=after, limit=1) == [datetime(2026, 1, 1, 1, tzinfo=UTC)]


def test_two_spellings_of_one_schedule_are_equal() -> None:
    all_days = Calendar(unit="week", on=tuple(range(7)), at=NINE)
    assert all_days == Calendar(at=NINE)
    window, step = Hours(time(9), time(18)), timedelta(minutes=10)
    by_week = Calendar(unit="week", on=(0, 1), hours=window, step=step)
    assert by_week == Calendar(hours=Hours(time(9), time(18), (0, 1)), step=step)
    assert Calendar(unit="month", on=(15, 1, 15), at=NINE).on == (1, 15)
    assert Cron(" 0  9 * * mon-fri ").expression == "0 9 * * MON-FRI"
