"""Stretches that chance would seldom draw: leap years, month ends on weekends, rare kinds of clock change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product
from typing import get_args

from .cases import Stretch
from .cron_oracle import Fold, Gap

# Days: an expression in UTC, the first day of the stretch and its length.
DAYS = (
    ("0 0 29 2 *", "1999-12-30", 400),
    ("0 0 29 2 *", "2096-01-01", 3500),
    ("30 6 1 * *", "2000-01-15", 90),
    ("30 6 1 * *", "2100-01-15", 90),
    ("0 12 LW * *", "2026-01-01", 400),
    ("0 12 1W,28W,29W,30W,31W * *", "2026-01-01", 800),
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


def edges() -> Iterator[Stretch]:
    for number, (expression, first, length) in enumerate(DAYS):
        start = datetime.fromisoformat(f"{first}T00:00:00Z")
        yield Stretch(f"edge:{number}:UTC", expression, "UTC", "next", "first", start, start + timedelta(days=length))
    choices = product(CHANGES, TIMES, product(get_args(Gap), get_args(Fold)))
    for number, ((zone, day), times, (gap, fold)) in enumerate(choices, start=len(DAYS)):
        middle = datetime.fromisoformat(f"{day}T04:00:00Z")
        reach = timedelta(hours=36)
        yield Stretch(f"edge:{number}:{zone}", f"{times} * * *", zone, gap, fold, middle - reach, middle + reach)


def edge(replay: str) -> Stretch:
    return next(stretch for stretch in edges() if stretch.replay == replay)
