"""Time travel over a long time: every occurrence runs, at the instants that a preview lists."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any

import pytest

import horae
from horae import Horae
from horae.testing import TimeTravel
from tests.sizes import sized

YEAR = timedelta(days=365)
START = datetime(2026, 1, 1, 11, 7, 30, tzinfo=UTC)
IRREGULAR_ZONES = (
    "Africa/Cairo Africa/Casablanca America/Havana America/Los_Angeles America/New_York America/Nuuk America/Santiago "
    "America/St_Johns Antarctica/Troll Asia/Beirut Asia/Gaza Asia/Jerusalem Asia/Kathmandu Asia/Shanghai Asia/Tehran "
    "Australia/Lord_Howe Australia/Sydney Europe/Berlin Europe/Dublin Europe/London Pacific/Auckland Pacific/Chatham "
    "Pacific/Easter Pacific/Kiritimati UTC"
).split()
ALL_ZONES = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
ZONES = sorted({*IRREGULAR_ZONES, *random.Random(20260301).sample(ALL_ZONES, sized(5, soak=25))})
SCHEDULES: dict[str, str | dict[str, Any]] = {
    "once": "at 2026-10-25 02:30",
    "every": "every 73h",
    "every from end": "every 120h after end",
    "cron, pinned": "30 2 * * 0",
    "cron, flowing": "*/30 1-2 * * 0",
    "cron, gap shift, fold both": {
        "kind": "cron",
        "expression": "15,45 0-3 * * 0",
        "gap": "shift",
        "fold": "both",
    },
    "cron, gap skip, fold last": {"kind": "cron", "expression": "0 0 L * *", "gap": "skip", "fold": "last"},
    "calendar, day": "every 9 days at 02:30",
    "calendar, week": "every 2 weeks on Fri,Sat,Sun at 00:30",
    "calendar, month": "last day of month at 17:00",
    "calendar, nth": "last sunday of the month at 02:15",
    "calendar, year": "every 29 feb at 09:00",
    "calendar, hours": "every 30m between 1:00 and 3:00 on sundays",
    "several": "every sunday at 02:30 and at 02:15 on the last sunday of every month and every 97h",
    "several, gap and fold of each": {
        "kind": "any_of",
        "schedules": [
            {"kind": "cron", "expression": "30 2 * * 0", "gap": "shift", "fold": "both"},
            {"kind": "cron", "expression": "*/30 1-2 * * 0"},
            {"kind": "calendar", "unit": "month", "on": [-1], "at": ["02:30"], "gap": "skip", "zone": "Europe/Berlin"},
        ],
        "repeat": 300,
    },
    "rrule": "RRULE:FREQ=WEEKLY;BYDAY=SU;BYHOUR=2;BYMINUTE=30;BYSECOND=0",
    "rrule, positions": "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
}


async def do_nothing() -> None: ...


def test_every_occurrence_of_ninety_days_is_recorded() -> None:
    app = Horae("memory://")
    hourly = app.task("0 * * * *", zone="UTC")(do_nothing)
    with TimeTravel(app, "2026-01-01 00:00", zone="UTC") as time:
        time.travel("90d")
        assert len(time.ran(hourly)) == 90 * 24


@pytest.mark.parametrize("zone", ZONES)
def test_preview_lists_the_instants_that_run(zone: str) -> None:
    """Run every kind of schedule for a year in zones with irregular clock changes and in sampled ones."""
    previewed = {
        name: horae.preview(when, zone=zone, after=START, until=START + YEAR, limit=None)
        for name, when in SCHEDULES.items()
    }
    app = Horae("memory://", zone=zone)
    app.task(name="note")(do_nothing)
    with TimeTravel(app, START) as time:
        for name, when in SCHEDULES.items():
            time.run(app.schedule("note", when, name=name, zone=zone, missed="all"))
        time.travel(YEAR)
        ran = {name: time.ran(name) for name in SCHEDULES}
    assert ran == previewed
    assert sum(len(each) for each in previewed.values()) > 700


def test_schedules_cover_every_kind_and_enough_zones() -> None:
    kinds = {horae.parse(when, zone="UTC", now=START).kind for when in SCHEDULES.values()}
    assert kinds == {"once", "every", "cron", "calendar", "rrule", "any_of"}
    assert len(ZONES) >= sized(30, soak=40)
