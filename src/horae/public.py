"""The public functions of the schedule language: parse, preview, describe."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

from .choices import Fold, Gap, Language
from .clock import SystemClock
from .schedule import Calendar, Cron, Every, Now, Once, RRule
from .schedule.canonical import from_wish
from .schedule.evaluate import Occurrences, Question, answer, plain_question
from .schedule.refusals import refuse
from .schedule.text import read
from .schedule.value import Past, Schedule, check_choices
from .schedule.zones import find_zone

MOST_FIRES: Final = 1_000_000
_MOST_READINGS: Final = 1024
_KINDS: Final = frozenset({Now, Once, Every, Cron, Calendar, RRule})
_readings: dict[tuple[str, str | None], Schedule] = {}
_asked: dict[str, dict[tuple[str | None, str, str], Question]] = {}


def parse(
    text_or_mapping: str | Mapping[str, Any] | Schedule, *, zone: str | None = None, now: datetime | None = None
) -> Schedule:
    """Understand a schedule: text in the schedule language, canonical JSON as a mapping, or a value as it is.

    `zone` is used where the schedule names none. `now` is what relative words such as "tomorrow" are counted from,
    by default this moment. Anything that cannot be understood, or can never fire, raises `InvalidSchedule`.
    """
    if zone.__class__ is not str and zone is not None:
        zone = _zone_name(zone)
    if isinstance(text_or_mapping, str):
        known = _readings.get((text_or_mapping, zone))
        return known if known is not None else _read(text_or_mapping, zone, now)
    if isinstance(text_or_mapping, Schedule):
        return text_or_mapping.with_defaults(_known_zone(zone))
    if isinstance(text_or_mapping, Mapping):
        return from_wish(text_or_mapping).with_defaults(_known_zone(zone))
    raise refuse("bad_input", value=type(text_or_mapping).__name__)


def preview(  # noqa: PLR0913 - one question, with everything that may qualify it
    schedule_or_text: str | Mapping[str, Any] | Schedule,
    *,
    zone: str | None = None,
    after: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = 5,
    gap: Gap = "next",
    fold: Fold = "first",
) -> list[datetime]:
    """The planned instants strictly after `after`, up to and including `until`, as aware UTC datetimes.

    `zone`, `gap` and `fold` apply only where the schedule itself says nothing. The schedule is taken as created at
    `after` (by default this moment), and `every … after end` as if each run ended when it began.
    """
    if limit == 1 and until is None and after.__class__ is datetime:
        # The short way: a cron that was asked before, as a value or as text. One look-up, and nothing left to check.
        try:
            asked = schedule_or_text._cache if schedule_or_text.__class__ is Cron else _asked[schedule_or_text]  # type: ignore[index]  # noqa: SLF001
            found = answer(asked[zone, gap, fold], after)
        except (KeyError, TypeError):
            pass
        else:
            return [] if found is None else [found]
    if zone.__class__ is not str and zone is not None:
        zone = _zone_name(zone)
    after = SystemClock().now() if after is None else _check_instant("after", after)
    # A look at the class itself is cheaper than asking an abstract class about its instances.
    known = schedule_or_text.__class__ in _KINDS
    schedule = cast("Schedule", schedule_or_text) if known else parse(schedule_or_text, zone=zone, now=after)
    if limit == 1 and until is None and (question := plain_question(schedule, zone, gap, fold)) is not None:
        if schedule_or_text.__class__ is str and (schedule_or_text, zone) in _readings:
            _asked.setdefault(schedule_or_text, {})[zone, gap, fold] = question
        found = answer(question, after)
        return [] if found is None else [found]
    check_choices(gap, fold)
    if until is not None:
        _check_instant("until", until)
    return _preview(schedule.with_defaults(_known_zone(zone), gap, fold), after, until, limit)


def describe(
    schedule_or_text: str | Mapping[str, Any] | Schedule,
    *,
    language: Language = "en",
    zone: str | None = None,
    now: datetime | None = None,
) -> str:
    """One sentence in English (`en`) or Chinese (`zh`) that says when a schedule fires; `parse` understands it again."""
    if language not in ("en", "zh"):
        raise refuse("bad_choice", name="language", value=language, allowed="en, zh")
    from .schedule.describe import sentence  # noqa: PLC0415 - words are loaded when they are first asked for

    return sentence(parse(schedule_or_text, zone=zone, now=now), language)


def _read(text: str, zone: str | None, now: datetime | None) -> Schedule:
    reading = read(text, zone=_known_zone(zone), now=SystemClock().now() if now is None else _check_instant("now", now))
    if not reading.relative:
        if len(_readings) >= _MOST_READINGS:
            _readings.clear()
            _asked.clear()
        _readings[text, zone] = reading.schedule
    return reading.schedule


def _preview(schedule: Schedule, after: datetime, until: datetime | None, limit: int | None) -> list[datetime]:
    if limit is None and until is None:
        raise refuse("limit_missing")
    most = MOST_FIRES if limit is None else limit
    if type(most) is not int or not 0 <= most <= MOST_FIRES:
        raise refuse("bad_limit", value=limit, most=MOST_FIRES)
    fires = Occurrences(schedule, Past(anchor=after), schedule.setting()).between(after, until)
    return [each for _, each in zip(range(most), fires, strict=False)]


def _zone_name(zone: object) -> str:
    """What else may stand for a zone: a subclass of text, a `ZoneInfo`, `datetime.UTC`."""
    if isinstance(zone, str):
        return str.__str__(zone)
    key = "UTC" if zone is UTC else getattr(zone, "key", None)
    if type(key) is not str:
        raise refuse("bad_value", key="zone", value=zone, wanted='the name of a zone such as "Europe/Berlin"')
    return key


def _check_instant(name: str, moment: datetime) -> datetime:
    if not isinstance(moment, datetime):
        raise refuse("not_a_datetime", name=name, value=type(moment).__name__)
    return moment


def _known_zone(zone: str | None) -> str | None:
    return None if zone is None else find_zone(zone).name
