"""Describes schedules in English and Chinese, from the value and never from its source text.

A sentence is the core (the kind of schedule), then its modifiers, then for cron and rrule the source in brackets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, Protocol, assert_never, cast

from ...choices import Fold, Gap, Language
from ..after import After
from ..any_of import AnyOf
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
    if isinstance(schedule, AnyOf):
        return _describe_list(schedule, language)
    described = words.separator.join([describe_core(schedule, language), *_describe_modifiers(schedule, words)])
    match schedule:
        case Cron(expression=expression):
            return f"{described} (cron {expression})"
        case RRule(recurrence=recurrence):
            return f"{described} (RRULE:{recurrence})"
        case _:
            return described


def _describe_list(schedule: AnyOf, language: Language) -> str:
    """Join the sentences of the schedules, then the modifiers of the list.

    Semicolons keep apart what a comma would leave unclear: more than two schedules, modifiers of one schedule and those
    of the list. A semicolon at the end says that the modifiers before it belong to the last schedule alone.
    """
    words = _LANGUAGES[language]
    modifiers = words.separator.join(_describe_modifiers(schedule, words))
    parts = [_describe_part(schedule, part, language) for part in schedule.schedules]
    if _is_plain_pair(schedule):
        return words.separator.join(filter(None, (_join_parts(schedule, parts, words), modifiers)))
    is_unclear = any(getattr(schedule.schedules[-1], name) is not None for name in ("zone", "gap", "fold"))
    ending = f"{words.list_separator}{modifiers}" if modifiers else words.list_separator.rstrip() if is_unclear else ""
    return _join_parts(schedule, parts, words) + ending


def _is_plain_pair(schedule: AnyOf) -> bool:
    """Whether it is two schedules that need no semicolon between them and before the modifiers of the list."""
    has_own = any(next(_describe_modifiers(each, _LANGUAGES["en"]), None) for each in schedule.schedules)
    return len(schedule.schedules) == 2 and not has_own and isinstance(schedule.schedules[-1], Calendar | Every)


def _join_parts(schedule: AnyOf, parts: list[str], words: DescriptionLanguage) -> str:
    *most, last = parts
    if _is_plain_pair(schedule):
        return words.pair(most[0], last)
    return words.list_separator.join((*most[:-1], words.pair(most[-1] + words.list_separator.rstrip(), last)))


def _describe_part(schedule: AnyOf, part: Schedule, language: Language) -> str:
    """Describe one schedule of a list; an instant is shown in the zone of the list."""
    if isinstance(part, Once) and part.at.tzinfo is not None:
        return describe_core(part.with_defaults(schedule.zone), language)
    return describe_schedule(part, language)


def describe_core(schedule: Schedule, language: Language) -> str:
    """Describe a schedule without its modifiers and source."""
    words = _LANGUAGES[language]
    typed = cast("Now | Once | Every | Cron | Calendar | RRule | AnyOf | After", schedule)
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
        case AnyOf():
            return _join_parts(typed, [describe_core(part, language) for part in typed.parts], words)
        case After():
            return words.after(typed)
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
    if schedule.zone is not None and not isinstance(schedule, After):
        yield describe_zone(schedule.zone)


class DescriptionLanguage(Protocol):
    separator: str
    now: str
    skipped_count: str
    list_separator: str

    # --- kinds
    def once(self, moment: str) -> str: ...
    def every(self, interval: timedelta, since: From) -> str: ...
    def cron(self, fields: CronFields) -> str: ...
    def calendar(self, calendar: Calendar) -> str: ...
    def rule(self, rule: Rule, start: datetime | None) -> str: ...
    def after(self, after: After) -> str: ...

    def pair(self, former: str, last: str) -> str:
        """Join the last two schedules of a list."""

    # --- modifiers
    def exclude(self, moments: Sequence[str]) -> str: ...
    def start(self, moment: str) -> str: ...
    def end(self, moment: str, *, whole_day: bool) -> str: ...
    def repeat(self, times: int) -> str: ...
    def jitter(self, length: timedelta) -> str: ...
    def gap(self, gap: Gap) -> str: ...
    def fold(self, fold: Fold) -> str: ...
