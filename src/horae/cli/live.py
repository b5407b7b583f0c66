"""A live table of the next fires of a few schedules, or a line per fire where there is no terminal."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from ..choices import Language
from ..clock import Clock
from ..schedule.describe import core_sentence
from ..schedule.evaluate import next as next_after
from ..schedule.preview import fires_in, in_words
from ..schedule.text import read
from ..schedule.value import Past, Schedule
from ..settings import default_zone
from .asking import known_zone
from .render import offset, reading, weekday
from .width import padded

if TYPE_CHECKING:
    from rich.table import Table

_TEXTS: Final = (
    "every 5s",
    "*/1 * * * *",
    "every 10m between 9:00 and 18:00 on weekdays",
    "0 9 * * 1-5 America/New_York",
    "每周一早上9点 北京时间",
    "last friday of the month 17:00 Europe/Berlin",
    "30 2 * * * Australia/Lord_Howe",
    "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=9;BYMINUTE=0;BYSECOND=0 Pacific/Auckland",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One schedule on the table: what comes next, and how late the last one was noticed."""

    schedule: Schedule
    past: Past
    upcoming: datetime | None
    last: datetime | None = None
    lateness: timedelta | None = None

    def at(self, now: datetime) -> Row:
        """The row after whatever came due by `now`."""
        if self.upcoming is None or self.upcoming > now:
            return self
        following = next_after(self.schedule, self.upcoming, self.past)
        return replace(self, last=self.upcoming, lateness=now - self.upcoming, upcoming=following)


def make_rows(now: datetime) -> list[Row]:
    zone = known_zone(default_zone(None, os.environ))
    rows = []
    for text in _TEXTS:
        schedule = read(text, zone=zone, now=now).schedule
        past = Past(anchor=now)
        rows.append(Row(schedule, past, next_after(schedule, now, past)))
    return rows


def watch(clock: Clock, language: Language, end: datetime | None) -> None:
    rows = make_rows(clock.now())
    if sys.stdout.isatty():
        _watch_table(clock, language, rows, end)
    else:
        _watch_lines(clock, language, rows, end)


def _watch_table(clock: Clock, language: Language, rows: list[Row], end: datetime | None) -> None:
    from rich.live import Live  # noqa: PLC0415 - only a terminal needs it

    with Live(_table(rows, clock.now(), language), auto_refresh=False) as live:
        while end is None or clock.now() < end:
            clock.sleep(_pause(rows, clock.now(), 0.5))
            now = clock.now()
            rows = [row.at(now) for row in rows]
            live.update(_table(rows, now, language), refresh=True)


def _watch_lines(clock: Clock, language: Language, rows: list[Row], end: datetime | None) -> None:
    """Without a terminal: the table once, then a line for each fire."""
    now = clock.now()
    for row in rows:
        _print(
            f"{_local(row.upcoming, row, language)}  {padded(_ahead(row, now, language), 16)} {_said(row, language)}"
        )
    while end is None or clock.now() < end:
        clock.sleep(_pause(rows, clock.now(), 1.0))
        now = clock.now()
        fired = [row.at(now) for row in rows]
        for before, row in zip(rows, fired, strict=True):
            if row is not before and row.lateness is not None:
                _print(f"{_local(row.last, row, language)}  +{_milliseconds(row.lateness)} ms  {_said(row, language)}")
        rows = fired


def _pause(rows: list[Row], now: datetime, longest: float) -> float:
    """Until the next fire, or the next refresh."""
    waits = [(row.upcoming - now).total_seconds() for row in rows if row.upcoming is not None]
    return max(0.0, min([longest, *waits]))


def _table(rows: list[Row], now: datetime, language: Language) -> Table:
    from rich.table import Table  # noqa: PLC0415 - only a terminal needs it

    english = language == "en"
    table = Table(title="horae", caption="Ctrl-C ends it" if english else "按 Ctrl-C 结束")
    for name in (
        ("Schedule", "Next (local)", "UTC", "In", "Last fire")
        if english
        else ("时间规则", "下次（当地）", "UTC", "还有", "上次")
    ):
        table.add_column(name, overflow="fold")
    for row in rows:
        utc = "" if row.upcoming is None else f"{row.upcoming:%Y-%m-%d %H:%M}Z"
        table.add_row(
            _said(row, language), _local(row.upcoming, row, language), utc, _ahead(row, now, language), _last(row)
        )
    return table


def _local(moment: datetime | None, row: Row, language: Language) -> str:
    if moment is None or row.schedule.zone is None:
        return "-"
    local = fires_in(row.schedule.zone, [moment])[0].local.replace(microsecond=0)
    return f"{weekday(local, language)} {reading(local)} {offset(local)}"


def _said(row: Row, language: Language) -> str:
    """What it means and where, without the source: a table has little room."""
    return f"{core_sentence(row.schedule, language)}{', ' if language == 'en' else '，'}{row.schedule.zone}"


def _ahead(row: Row, now: datetime, language: Language) -> str:
    return "-" if row.upcoming is None else in_words(row.upcoming - now, language)


def _last(row: Row) -> str:
    if row.last is None or row.lateness is None:
        return ""
    return f"✓ {row.last:%H:%M:%S}Z +{_milliseconds(row.lateness)} ms"


def _milliseconds(length: timedelta) -> int:
    return round(length.total_seconds() * 1000)


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - this is the output
