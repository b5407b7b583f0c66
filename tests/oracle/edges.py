"""Stretches that chance would seldom draw: leap years, month ends on weekends, rare kinds of clock change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import get_args

from .cases import Stretch
from .cron_oracle import Fold, Gap

AGREED = json.loads((Path(__file__).parents[1] / "data" / "shared_cron_cases.json").read_text(encoding="utf-8"))

# Days: an expression in UTC, the first day of the stretch and its length.
DAYS = (
    ("0 0 29 2 *", "1999-12-30", 400),
    ("0 0 29 2 *", "2096-01-01", 3500),
    ("30 6 1 * *", "2000-01-15", 90),
    ("30 6 1 * *", "2100-01-15", 90),
    ("0 12 LW * *", "2026-01-01", 400),
    ("0 12 1W * *", "2026-01-01", 800),
    ("0 12 28W * *", "2026-01-01", 800),
    ("0 12 30W * *", "2026-01-01", 800),
    ("0 12 31W * *", "2026-01-01", 800),
    ("0 12 15W * *", "2026-01-01", 800),
    ("0 12 * * 5#5,SUN#1,1L,0L", "2026-01-01", 400),
    ("0 12 L 2 *", "2023-01-01", 1500),
    ("0 12 1-31 * 5", "2026-01-01", 40),
    ("0 12 */2 * 5", "2026-01-01", 90),
    ("0 12 13 * FRI", "2026-01-01", 90),
    ("0 12 13 * */2", "2026-01-01", 400),
    ("0 12 * * 7", "2026-01-01", 40),
    ("0 12 * * FRI-SUN", "2026-01-01", 40),
    ("0 12 * * 4/1", "2026-01-01", 40),
    ("0 12 31 JAN,apr,DEC *", "2026-01-01", 800),
)
# On either side of what is still accepted.
BORDERLINE = (
    "*/59 * * * *", "*/60 * * * *", "0 */23 * * *", "0 */24 * * *", "0 0 */30 * *", "0 0 */31 * *", "0 0 1 */11 *",
    "0 0 1 */12 *", "0 0 * * */6", "0 0 * * */7", "0 0 * * 0-7/7", "0 0 * * 1-7/7", "58/1 * * * *", "59/1 * * * *",
    "0 0 5-5 * *", "0 0 5-5/1 * *", "0 0 29 2 *", "0 0 30 2 *", "0 0 30 2 1", "0 0 30 2 */2", "0 0 31 4,6,9,11 *",
    "0 0 31 4,6,9,12 *", "0 0 30W 2 *", "0 0 29W 2 *", "0 0 L 2 *", "0 0 * * 7#5", "0 0 * * 8#5", "0 0 * * FRI-SUN",
    "0 0 * * FRI-MON", "0 0 * * 6-7", "0 0 * * 7-1", "0 0 * 12/1 *", "0 0 * 11/1 *", "59 59 23 31 12 *",
)  # fmt: skip
# Clock changes: a zone and the day around which it sets its clocks; asked with every choice for gap and fold.
CHANGES = (
    ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"),
    ("America/New_York", "2100-03-14"),
    ("America/New_York", "2100-11-07"),
    ("Europe/Dublin", "2040-10-28"),
    ("Europe/Dublin", "2040-03-25"),
    ("Australia/Lord_Howe", "2026-10-04"),
    ("Australia/Lord_Howe", "2026-04-05"),
    ("Antarctica/Troll", "2026-03-29"),
    ("Antarctica/Casey", "2018-10-07"),
    ("America/Danmarkshavn", "1996-01-01"),
    ("Pacific/Apia", "2011-12-30"),
    ("Pacific/Kwajalein", "1993-08-21"),
    ("America/Nuuk", "2040-03-25"),
    ("Africa/Cairo", "2040-04-27"),
    ("Asia/Gaza", "2026-03-28"),
)
TIMES = ("0 0", "59 1", "0 2", "30 2", "0 3", "0 0,2,3", "30 0-4", "*/30 2", "0 *", "15 */2", "0 12", "0-59/10 1-3")


def edges(zones: Sequence[str] = ()) -> Iterator[Stretch]:
    """All of them, or those in the zones given and in UTC."""
    for number, stretch in enumerate([*_agreed(), *_borderline(), *_days(), *_changes()]):
        if not zones or stretch.zone in {"UTC", *zones}:
            yield replace(stretch, replay=f"edge:{number}:{stretch.zone}")


def edge(replay: str) -> Stretch:
    return next(stretch for stretch in edges() if stretch.replay == replay)


def _agreed() -> Iterator[Stretch]:
    for case in AGREED["fires"]:
        start, end = datetime.fromisoformat(case["after"]), datetime.fromisoformat(case["until"])
        gap, fold = case.get("gap", "next"), case.get("fold", "first")
        yield Stretch("", case["expression"], case["zone"], gap, fold, start, end)


def _borderline() -> Iterator[Stretch]:
    start = datetime.fromisoformat("2026-01-01T00:00:00Z")
    for expression in (*BORDERLINE, *(case["expression"] for case in AGREED["refused"])):
        yield Stretch("", expression, "UTC", "next", "first", start, start + timedelta(days=2))


def _days() -> Iterator[Stretch]:
    for expression, first, length in DAYS:
        start = datetime.fromisoformat(f"{first}T00:00:00Z")
        yield Stretch("", expression, "UTC", "next", "first", start, start + timedelta(days=length))


def _changes() -> Iterator[Stretch]:
    reach = timedelta(hours=36)
    choices = tuple(product(get_args(Gap), get_args(Fold)))
    for (zone, day), times, (gap, fold) in product(CHANGES, TIMES, choices):
        middle = datetime.fromisoformat(f"{day}T04:00:00Z")
        yield Stretch("", f"{times} * * *", zone, gap, fold, middle - reach, middle + reach)
    # Once a year, on this very day: what the fold repeats is then far from what comes next.
    for (zone, day), times, (gap, fold) in product(CHANGES, ("45 1", "*/20 1"), choices):
        middle = datetime.fromisoformat(f"{day}T04:00:00Z")
        yield Stretch("", f"{times} {middle.day} {middle.month} *", zone, gap, fold, middle - reach, middle + reach)
