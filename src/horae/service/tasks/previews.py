"""Preview of a schedule without a task: its meaning, its next fires and its warnings; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from ...choices import Fold, Gap
from ...errors import InvalidSchedule
from ...model.refusals import refuse
from ...model.task import OPEN_STATES, Task, TaskStatus, past_of
from ...model.text.field_checks import check_number
from ...schedule import Schedule, iterate
from ...schedule.any_of import parts_of
from ...schedule.canonical import read_moment
from ...schedule.instants import to_datetime
from ...schedule.lint import lint
from ...schedule.preview import Fire, make_fires
from ...schedule.text import ParsedText, parse_text
from ...schedule.text.request import parse_when
from ...schedule.value import Past, first_instant, is_wall, last_instant
from ...schedule.warnings import ScheduleWarning
from ...schedule.zones import find_zone
from .default_zone import AssumedZone, needs_zone
from .task_request import note_zone_field

MAX_FIRES: Final = 1_000
_RECURRING: Final = frozenset({"every", "cron", "calendar", "rrule"})
"""Kinds whose warnings do not change with the hour; one schedule of a list may be a single time."""
_MAYBE_RELATIVE: Final = frozenset({"now", "once", "every"})
"""Kinds that may be relative to now."""
_MAX_CACHED_CHARACTERS: Final = 200
_MAX_READINGS: Final = 512
_READINGS: Final[dict[tuple[str, str], ParsedText]] = {}


class ParsedSchedule(NamedTuple):
    """A parsed schedule with its warnings."""

    schedule: Schedule
    warnings: tuple[ScheduleWarning, ...]


class Preview(NamedTuple):
    """`after` is the instant from which the fires were computed."""

    text: str
    schedule: Schedule
    after: datetime
    fires: tuple[Fire, ...]
    warnings: tuple[ScheduleWarning, ...]


class PreviewRequest(NamedTuple):
    """`when` is text or canonical JSON; `zone` applies if it names none, `usual` if neither does."""

    when: object
    zone: str | None
    default_zone: AssumedZone
    after: str | None = None
    until: str | None = None
    number: int = 5
    gap: Gap | None = None
    fold: Fold | None = None


def parse_schedule(when: object, zone: str | None, default_zone: AssumedZone, now: datetime) -> ParsedSchedule:
    """Parse a schedule as a task would; a warning reports an assumed zone and its reason."""
    schedule, notes, named = _read(when, zone or default_zone.name, now)
    warnings = list(_find_warnings(schedule, now, notes))
    if zone is None and not named and _is_local(when, schedule, now):
        warnings.insert(0, default_zone.warning())
    return ParsedSchedule(schedule, tuple(warnings))


def _is_local(when: object, schedule: Schedule, now: datetime) -> bool:
    """Whether the zone affects its instants: always for calendars; an interval or a delay has to be checked."""
    is_clear = any(part.kind not in _MAYBE_RELATIVE for part in parts_of(schedule))
    return is_clear or not isinstance(when, str) or needs_zone(when, now)


def _find_warnings(schedule: Schedule, now: datetime, notes: tuple[str, ...]) -> Sequence[ScheduleWarning]:
    if schedule.kind in _RECURRING and schedule.end is None:
        return _lint_cached(schedule, now.replace(minute=0, second=0, microsecond=0), notes)
    return lint(schedule, now, notes=notes)


@lru_cache(maxsize=256)
def _lint_cached(schedule: Schedule, hour: datetime, notes: tuple[str, ...]) -> tuple[ScheduleWarning, ...]:
    """Cached by the hour, because within an hour the warnings of an endless schedule stay the same."""
    return tuple(lint(schedule, hour, notes=notes))


def compute_preview(question: PreviewRequest, now: datetime) -> Preview:
    """Compute the preview of a schedule; the current time is truncated to seconds."""
    now = now.replace(microsecond=0)
    check_number("number", question.number, 1, MAX_FIRES)
    known, _, _ = _read(question.when, question.zone or question.default_zone.name, now)
    zone = known.zone or question.default_zone.name
    after = now if question.after is None else _parse_instant(question.after, zone)
    until = None if question.until is None else _parse_instant(question.until, zone, last=True)
    understood = parse_schedule(question.when, question.zone, question.default_zone, after)
    schedule = understood.schedule.with_defaults(zone, question.gap, question.fold)
    instants = islice(iterate(schedule, after, Past(anchor=after), until=until), question.number)
    text = question.when if isinstance(question.when, str) else ""
    return Preview(text, schedule, after, tuple(make_fires(zone, instants)), understood.warnings)


def compute_task_preview(
    task: Task, standing: TaskStatus, now: datetime, number: int = 5, after: str | None = None
) -> Preview:
    """Compute the preview of an existing task: its schedule continues from its past."""
    check_number("number", number, 1, MAX_FIRES)
    schedule, zone = task.schedule, task.schedule.zone or "UTC"
    start = now.replace(microsecond=0) if after is None else _parse_instant(after, zone)
    instants = islice(iterate(schedule, start, past_of(task, standing)), number)
    return Preview(
        task.name, schedule, start, tuple(make_fires(zone, instants)), tuple(_lasting(lint(schedule, start), standing))
    )


def _lasting(warnings: Sequence[ScheduleWarning], standing: TaskStatus) -> list[ScheduleWarning]:
    """Without the warning of a new task that it would be due at once: an ended task is not made again."""
    return [each for each in warnings if each.code != "in_the_past" or standing.state in OPEN_STATES]


def _read_text(text: str, zone: str, now: datetime) -> ParsedText:
    """Parse text with a cache for readings that do not depend on the current time."""
    reading = _READINGS.get((text, zone))
    if reading is None:
        reading = parse_text(text, zone=zone, now=now)
        if not reading.relative and len(text) <= _MAX_CACHED_CHARACTERS:
            if len(_READINGS) >= _MAX_READINGS:
                _READINGS.clear()
            _READINGS[text, zone] = reading
    return reading


def _read(when: object, zone: str, now: datetime) -> tuple[Schedule, tuple[str, ...], bool]:
    if not isinstance(when, str | Mapping | list | tuple):
        raise refuse("bad_when", value=type(when).__name__)
    try:
        reading = _read_text(when, zone, now) if isinstance(when, str) else parse_when(when, zone=zone, now=now)
    except InvalidSchedule as refusal:
        note_zone_field(refusal, zone)
        raise
    return reading.schedule, reading.notes, reading.named_zone


def _parse_instant(text: object, zone: str, *, last: bool = False) -> datetime:
    """Parse an instant; a date as the end includes its whole day."""
    try:
        moment = read_moment(text.strip()) if isinstance(text, str) else None
        if moment is None:
            raise refuse("unclear_moment", value=text)
        resolve = last_instant if last else first_instant
        return to_datetime(resolve(moment, find_zone(zone if is_wall(moment) else "UTC"))).astimezone(UTC)
    except (InvalidSchedule, OverflowError, ValueError):
        raise refuse("unclear_moment", value=text) from None
