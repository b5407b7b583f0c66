"""Public schedule functions `parse`, `preview` and `describe`, with a cache of parsed texts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, cast

from .choices import Fold, Gap, Language
from .clock import SystemClock
from .schedule import After, AnyOf, Calendar, Cron, Every, Now, Once, RRule
from .schedule.evaluate import NextSecond, Occurrences, find_fast_path, next_by_fast_path
from .schedule.refusals import refuse
from .schedule.text import parse_text
from .schedule.text.request import ScheduleRequest, parse_when
from .schedule.value import Past, Schedule, check_choices
from .schedule.zones import find_zone

MAX_FIRES: Final = 1_000_000
_MAX_CACHED_TEXTS: Final = 1024
_SCHEDULE_CLASSES: Final = frozenset({Now, Once, Every, Cron, Calendar, RRule, AnyOf, After})
_parsed_texts: dict[tuple[str, str | None], Schedule] = {}
_questions: dict[str, dict[tuple[str | None, str, str], NextSecond]] = {}


def parse(text_or_mapping: ScheduleRequest, *, zone: str | None = None, now: datetime | None = None) -> Schedule:
    """Return the schedule for text in the schedule language, for canonical JSON as a mapping, or for a value as it is.

    A list of these is one schedule that fires whenever one of them does.
    `zone` is used where the schedule names none. Relative words such as "tomorrow" count from `now`, by default the
    current instant. Input that cannot be parsed, or can never fire, raises `InvalidSchedule`.
    """
    if zone.__class__ is not str and zone is not None:
        zone = _zone_name(zone)
    if isinstance(text_or_mapping, str):
        known = _parsed_texts.get((text_or_mapping, zone))
        return known if known is not None else _parse_text(text_or_mapping, zone, now)
    if isinstance(text_or_mapping, Schedule):
        return text_or_mapping.with_defaults(_known_zone(zone))
    if isinstance(text_or_mapping, Mapping | list | tuple):
        return parse_when(text_or_mapping, zone=_known_zone(zone), now=_instant_or_now("now", now)).schedule
    raise refuse("bad_input", value=type(text_or_mapping).__name__)


def preview(  # noqa: PLR0913 - one question, with everything that may qualify it
    schedule_or_text: ScheduleRequest,
    *,
    zone: str | None = None,
    after: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = 5,
    gap: Gap = "next",
    fold: Fold = "first",
) -> list[datetime]:
    """Return the planned instants strictly after `after`, up to and including `until`, as aware UTC datetimes.

    `zone`, `gap` and `fold` apply only where the schedule itself says nothing. The schedule counts as created at
    `after` (by default the current instant), and `every … after end` as if each run ended when it began.
    """
    if limit == 1 and until is None and after.__class__ is datetime:
        # Fast path: a cron that was previewed before, as a value or as text, is one cache look-up without checks.
        try:
            cached = schedule_or_text._cache if schedule_or_text.__class__ is Cron else _questions[schedule_or_text]  # type: ignore[index]  # noqa: SLF001
            instant = next_by_fast_path(cached[zone, gap, fold], after)
        except (KeyError, TypeError):
            pass
        else:
            return [] if instant is None else [instant]
    if zone.__class__ is not str and zone is not None:
        zone = _zone_name(zone)
    after = _instant_or_now("after", after)
    # Comparing the class is cheaper than isinstance() with an abstract class.
    known = schedule_or_text.__class__ in _SCHEDULE_CLASSES
    schedule = cast("Schedule", schedule_or_text) if known else parse(schedule_or_text, zone=zone, now=after)
    if limit == 1 and until is None and (question := find_fast_path(schedule, zone, gap, fold)) is not None:
        if schedule_or_text.__class__ is str and (schedule_or_text, zone) in _parsed_texts:
            _questions.setdefault(schedule_or_text, {})[zone, gap, fold] = question
        instant = next_by_fast_path(question, after)
        return [] if instant is None else [instant]
    check_choices(gap, fold)
    if until is not None:
        _check_instant("until", until)
    return _preview(schedule.with_defaults(_known_zone(zone), gap, fold), after, until, limit)


def describe(
    schedule_or_text: ScheduleRequest,
    *,
    language: Language = "en",
    zone: str | None = None,
    now: datetime | None = None,
) -> str:
    """Return one sentence in English (`en`) or Chinese (`zh`) that says when a schedule fires; `parse` accepts it."""
    if language not in ("en", "zh"):
        raise refuse("bad_choice", name="language", value=language, allowed="en, zh")
    from .schedule.describe import describe_schedule  # noqa: PLC0415 - the words load on first use

    return describe_schedule(parse(schedule_or_text, zone=zone, now=now), language)


def _parse_text(text: str, zone: str | None, now: datetime | None) -> Schedule:
    reading = parse_text(text, zone=_known_zone(zone), now=_instant_or_now("now", now))
    if not reading.relative:
        if len(_parsed_texts) >= _MAX_CACHED_TEXTS:
            _parsed_texts.clear()
            _questions.clear()
        _parsed_texts[text, zone] = reading.schedule
    return reading.schedule


def _preview(schedule: Schedule, after: datetime, until: datetime | None, limit: int | None) -> list[datetime]:
    if limit is None and until is None:
        raise refuse("limit_missing")
    max_fires = MAX_FIRES if limit is None else limit
    if type(max_fires) is not int or not 0 <= max_fires <= MAX_FIRES:
        raise refuse("bad_limit", value=limit, most=MAX_FIRES)
    fires = Occurrences(schedule, Past(anchor=after), schedule.setting()).between(after, until)
    return [each for _, each in zip(range(max_fires), fires, strict=False)]


def _zone_name(zone: object) -> str:
    """Return the zone name of a str subclass, a `ZoneInfo` or `datetime.UTC`; refuse anything else."""
    if isinstance(zone, str):
        return str.__str__(zone)
    key = "UTC" if zone is UTC else getattr(zone, "key", None)
    if type(key) is not str:
        raise refuse("bad_value", key="zone", value=zone, wanted='the name of a zone such as "Europe/Berlin"')
    return key


def _instant_or_now(name: str, moment: datetime | None) -> datetime:
    return SystemClock().now() if moment is None else _check_instant(name, moment)


def _check_instant(name: str, moment: datetime) -> datetime:
    if not isinstance(moment, datetime):
        raise refuse("not_a_datetime", name=name, value=type(moment).__name__)
    return moment


def _known_zone(zone: str | None) -> str | None:
    return None if zone is None else find_zone(zone).name
