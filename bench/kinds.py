"""The next fire of every schedule kind, and the memory of one value."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import horae
from bench.contenders import horae_next
from bench.counts import Counts
from bench.instants import ZONE, instants_near_changes, random_instants
from bench.measure import take_turns
from bench.reading import forget
from bench.results import Section, counted, timed
from horae.schedule import Cron, Past, Schedule, next  # noqa: A004 - the product's own question

_ANYWHERE: Final = (
    "0 9 * * 1-5",
    "0 0 L * *",
    "0 0 29 2 *",
    "every weekday at 9am",
    "every 2 weeks on Mon,Thu at 18:30",
    "last day of month at 17:00",
    "last Friday of month at 17:00",
    "every 10m from 9:00 to 18:00 on weekdays",
    "every 90s",
    "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
    "RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=17;BYMINUTE=0;BYSECOND=0",
    "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2;BYHOUR=17;BYMINUTE=0;BYSECOND=0",
    "RRULE:FREQ=SECONDLY;INTERVAL=7;BYHOUR=9,10;UNTIL=99991201",
)
_NEAR_A_CHANGE: Final = ("30 2 * * *", "30 1 * * 1-5", "*/5 * * * *", "last day of month at 17:00")


def next_of_each_kind(counts: Counts) -> list[Section]:
    return [
        _section("Next of every kind", _ANYWHERE, random_instants(counts.texts), counts),
        _section("Next near a clock change", _NEAR_A_CHANGE, instants_near_changes(counts.texts), counts),
    ]


def _section(title: str, texts: tuple[str, ...], instants: list[datetime], counts: Counts) -> Section:
    asked = {text: horae_next(horae.parse(text, zone=ZONE), instants) for text in texts}
    for contender in asked.values():
        contender.ask(contender.questions)
    rows = tuple(timed(f"`{text}`", timing, "µs") for text, timing in take_turns(asked, counts.rounds).items())
    return Section(f"{title}, in {ZONE}", rows)


def weighing(counts: Counts) -> list[Section]:
    rows = (
        counted("equal cron values, before the first question", _bytes_each(_equal, counts.values), "bytes"),
        counted("equal cron values, each asked once", _bytes_each(_asked(_equal), counts.values), "bytes"),
        counted("different cron values, each asked once", _bytes_each(_asked(_different), counts.values), "bytes"),
        counted("different calendar values, each asked once", _bytes_each(_asked(_calendar), counts.values), "bytes"),
    )
    return [Section(f"Memory of one value among {counts.values:,}, caches included", rows)]


def _equal(number: int) -> Schedule:  # noqa: ARG001 - all the same
    return Cron("0 9 * * 1-5", zone=ZONE)


def _different(number: int) -> Schedule:
    return Cron(f"{number % 60} {number // 60 % 24} * * 1-5", zone=ZONE)


def _calendar(number: int) -> Schedule:
    return horae.parse(f"last day of month at {number // 60 % 24:02}:{number % 60:02}", zone=ZONE)


def _asked(make: Callable[[int], Schedule]) -> Callable[[int], Schedule]:
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    past = Past(anchor=moment)

    def make_and_ask(number: int) -> Schedule:
        value = make(number)
        next(value, moment, past)
        return value

    return make_and_ask


def _bytes_each(make: Callable[[int], Schedule], count: int) -> float:
    make(0)
    forget()
    gc.collect()
    tracemalloc.start()
    values = [make(number) for number in range(count)]
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / len(values)
