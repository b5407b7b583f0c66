"""Parsing: text to value, cold and warm; refusals; and loading zones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Final

import horae
from bench.counts import Counts
from bench.instants import ZONE
from bench.measure import in_batches, one_by_one
from bench.results import Bar, Section, timed
from horae import public
from horae.schedule.tzif import read_history, zone_names
from horae.schedule.zones import Zone

_NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
_TEXTS: Final = {
    "cron": "0 9 * * 1-5",
    "English": "every 2 weeks on Mon,Thu at 18:30",
    "Chinese": "每月最后一天18点",
    "RRULE": "RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=17;BYMINUTE=0;BYSECOND=0",
}
_RELATIVE: Final = {"English": "tomorrow at 9am", "Chinese": "明天早上9点"}
_REFUSED: Final = ("0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 * *")
# The nearest of all zones is looked for: no target, but good to know.
_MISSPELT: Final = "every weekday at 9am in America/New_Yrok"
_BATCH: Final = 200
_ZONE_CACHES: Final = ("find_zone", "zone_names")


def reading(counts: Counts) -> list[Section]:
    rows = []
    for language, text in _TEXTS.items():
        parse = partial(horae.parse, text, zone=ZONE, now=_NOW)
        rows.append(timed(f"{language}, cold: `{text}`", one_by_one(parse, counts.singles, forget), "µs"))
        rows.append(timed(f"{language}, warm", in_batches(parse, _BATCH, counts.rounds), "µs"))
    for language, text in _RELATIVE.items():
        parse = partial(horae.parse, text, zone=ZONE, now=_NOW)
        rows.append(timed(f"{language}, relative: `{text}`", one_by_one(parse, counts.singles), "µs"))
    notes = ("Cold: every cache of texts, fields and plans is emptied first. Relative words are never kept.",)
    return [Section("From text to a value", tuple(rows), notes)]


def refusing(counts: Counts) -> list[Section]:
    bars = dict.fromkeys(_REFUSED, Bar("under", 10)) | {_MISSPELT: None}
    rows = [
        timed(f"`{text}`", one_by_one(partial(_refused, text), counts.singles, forget), "ms", bar)
        for text, bar in bars.items()
    ]
    return [Section("Refusals, cold", tuple(rows))]


def loading(counts: Counts) -> list[Section]:
    names = sorted(zone_names())[: counts.zones]
    rows = (
        timed(ZONE, one_by_one(partial(_load, ZONE), counts.singles), "µs"),
        timed(f"all {len(names)} zones", one_by_one(lambda: [_load(name) for name in names], counts.rounds), "ms"),
    )
    return [Section("Loading zones", rows)]


def forget() -> None:
    """Empty every cache that reading text may have filled; loaded zones stay."""
    public._parsed_texts.clear()  # noqa: SLF001 - a cold start is what this is about
    for clear in _cache_clearers():
        clear()


def _cache_clearers() -> list[Callable[[], None]]:
    """Found by looking, so that a cache which comes later is emptied too."""
    return [
        value.cache_clear
        for name, module in sys.modules.copy().items()
        if name.startswith("horae.schedule")
        for attribute, value in vars(module).items()
        if hasattr(value, "cache_clear") and attribute not in _ZONE_CACHES
    ]


def _refused(text: str) -> None:
    with suppress(horae.InvalidSchedule):
        horae.parse(text, zone=ZONE, now=_NOW)
        raise AssertionError(f"{text} should have been refused")


def _load(name: str) -> Zone:
    return Zone(name, read_history(name))
