"""Describes schedules in English and Chinese, from the value and never from its source text.

A sentence is the core (the kind of schedule), then its modifiers, then for cron and rrule the source in brackets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, Protocol, assert_never, cast

from ...choices import Fold, Gap, Language
from ..calendar import Calendar
from ..cron import Cron
from ..cron_fields import CronFields
from ..every import Every, From
from ..once import Now, Once
from ..recurrence import Rule
from ..rrule import RRule
from ..value import Schedule
from .chinese import Chinese
from .english import English
from .moments import describe_moment, describe_zone, wall_start

_LANGUAGES: Final[dict[Language, DescriptionLanguage]] = {"en": English(), "zh": Chinese()}


@lru_cache(maxsize=1_024)
def describe_schedule(schedule: Schedule, language: Language) -> str:
    """Describe exactly when a schedule fires (cached); the result parses back to the same schedule."""
    words = _LANGUAGES[language]
    described = words.separator.join([describe_core(schedule, language), *_describe_modifiers(schedule, words)])
    match schedule:
        case Cron(expression=expression):
            return f"{described} (cron {expression})"
        case RRule(recurrence=recurrence):
            return f"{described} (RRULE:{recurrence})"
        case _:
            return described


def describe_core(schedule: Schedule, language: Language) -> str:
    """Describe a schedule without its modifiers and source."""
    words = _LANGUAGES[language]
    typed = cast("Now | Once | Every | Cron | Calendar | RRule", schedule)
    match typed:
        case Now():
            return words.now
        case Once():
            return words.once(describe_moment(typed.at, typed.zone))
        case Every():
            return words.every(typed.interval, typed.since)
        case Cron():
            return words.cron(typed.fields)
        case Calendar():
            return words.calendar(typed)
        case RRule():
            return words.rule(typed.parsed, wall_start(typed))
        case _:
            assert_never(typed)


def _describe_modifiers(schedule: Schedule, words: DescriptionLanguage) -> Iterator[str]:
    if isinstance(schedule, Calendar | RRule) and schedule.exclude:
        yield words.exclude([describe_moment(each, schedule.zone) for each in schedule.exclude])
    if schedule.start is not None:
        yield words.start(describe_moment(schedule.start, schedule.zone))
    if schedule.end is not None:
        yield words.end(describe_moment(schedule.end, schedule.zone), whole_day=not isinstance(schedule.end, datetime))
    if schedule.repeat is not None:
        yield words.repeat(schedule.repeat)
    if schedule.counting == "planned":
        yield words.skipped_count
    if schedule.jitter is not None:
        yield words.jitter(schedule.jitter)
    if schedule.gap is not None and not (isinstance(schedule, RRule) and schedule.gap == "skip"):
        yield words.gap(schedule.gap)
    if schedule.fold is not None:
        yield words.fold(schedule.fold)
    if schedule.zone is not None:
        yield describe_zone(schedule.zone)


class DescriptionLanguage(Protocol):
    separator: str
    now: str
    skipped_count: str

    # --- kinds
    def once(self, moment: str) -> str: ...
    def every(self, interval: timedelta, since: From) -> str: ...
    def cron(self, fields: CronFields) -> str: ...
    def calendar(self, calendar: Calendar) -> str: ...
    def rule(self, rule: Rule, start: datetime | None) -> str: ...

    # --- modifiers
    def exclude(self, moments: Sequence[str]) -> str: ...
    def start(self, moment: str) -> str: ...
    def end(self, moment: str, *, whole_day: bool) -> str: ...
    def repeat(self, times: int) -> str: ...
    def jitter(self, length: timedelta) -> str: ...
    def gap(self, gap: Gap) -> str: ...
    def fold(self, fold: Fold) -> str: ...
