"""Preview of a schedule text for a page: the engine's reading, its next fires in two zones, warnings, or the error with
the texts that may be meant instead."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from ...errors import InvalidSchedule, Refusal
from ...model.task import Task
from ...schedule import Schedule
from ...schedule.describe import describe_schedule
from ...schedule.preview import Fire
from ...schedule.text.possible_texts import possible_texts
from ...schedule.text.zone_words import resolve_zone
from ...service.tasks.default_zone import assumed_zone, zone_of_deployment
from ...service.tasks.edits import Edits, FireChanges
from ...service.tasks.previews import Preview, PreviewRequest, compute_preview, compute_task_preview, parse_schedule
from ...service.tasks.task_request import read_when
from ...wire.tasks.task import after_when, next_due, parse_link
from ..formats import format_day
from ..messages import TEXTS
from ..page import PageRequest
from ..viewer import Viewer
from .schedule_fields import WEEKDAYS, fields_of

SHOWN_FIRES: Final = 5
_MAX_LOAD: Final = 100
_NOTABLE_LOAD: Final = 10
_WORD: Final = re.compile("[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class TextProblem:
    """Refusal of a text: what is wrong, what to write, and the text split where it is wrong."""

    detail: str
    hint: str
    code: str
    before: str = ""
    at: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A text to choose instead, and its meaning."""

    text: str
    means: str


@dataclass(frozen=True, slots=True)
class SchedulePreview:
    """`schedule` is None where the text was not understood; `changes` is None unless a task is edited."""

    when: str
    zone: str
    means: str = ""
    schedule: Schedule | None = None
    fires: tuple[Fire, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: TextProblem | None = None
    choices: tuple[Choice, ...] = ()
    changes: FireChanges | None = None
    load: int = 0
    is_past: bool = False

    @property
    def kind(self) -> str:
        return "" if self.schedule is None else self.schedule.kind

    @property
    def fields(self) -> dict[str, str]:
        return {} if self.schedule is None else fields_of(self.schedule)

    @property
    def is_immediate(self) -> bool:
        """Whether a task with this schedule is due as soon as it is saved."""
        return self.kind == "now" or self.is_past

    @property
    def fields_json(self) -> str:
        return json.dumps(self.fields)

    def format_local(self, fire: Fire, viewer: Viewer) -> str:
        """Return a fire in the zone of the schedule, with its weekday."""
        return _format_day_time(fire.local, viewer)

    def format_instant(self, at: datetime, viewer: Viewer) -> str:
        """Return an instant in the zone of the schedule, with its weekday."""
        return _format_day_time(at.astimezone(ZoneInfo(self.task_zone)), viewer)

    def format_viewer(self, fire: Fire, viewer: Viewer) -> str:
        return _format_day_time(fire.utc.astimezone(viewer.tz), viewer)

    @property
    def cron(self) -> str:
        """Return the cron expression of a schedule that has an equal one."""
        return self.fields.get("schedule.cron", "")

    @property
    def task_zone(self) -> str:
        return (None if self.schedule is None else self.schedule.zone) or self.zone or "UTC"


def _format_day_time(at: datetime, viewer: Viewer) -> str:
    """Return weekday, date and time: `Mon 16 Nov 09:00`, `11月16日 周一 09:00`."""
    today = viewer.now.astimezone(at.tzinfo)
    clock = f"{at:%H:%M:%S}" if at.second or at.microsecond else f"{at:%H:%M}"
    weekday = TEXTS[f"edit_day_{WEEKDAYS[at.weekday()]}"].in_language(viewer.language)
    day = format_day(at, today, viewer.language)
    return f"{weekday} {day} {clock}" if viewer.language == "en" else f"{day} {weekday} {clock}"


def read_zone(text: str) -> str | None:
    """Return the IANA name of a zone field, which also accepts cities; None where it is blank."""
    return resolve_zone(text, None) if text else None


async def preview_text(request: PageRequest, when: str, zone: str, task: Task | None = None) -> SchedulePreview:
    """Preview a text as a task of the viewer, or as the new schedule of a task. Nothing is raised for a wrong text."""
    if not when.strip():
        return SchedulePreview(when, zone)
    owner = None if task is None else task.owner
    assumed = await assumed_zone(request.service, request.viewer.principal, owner)
    now = request.context.clock.now()
    try:
        named = read_zone(zone) or (None if task is None else task.schedule.zone)
        preview = compute_preview(PreviewRequest(when, named, assumed, number=SHOWN_FIRES), now)
    except Refusal as refusal:
        return _problem(request, when, zone, refusal)
    changes = None if task is None else await _fire_changes(request, task, preview.schedule)
    return await _make_preview(request, when, zone, preview, changes)


def preview_after(request: PageRequest, links: Sequence[str], mode: str) -> SchedulePreview:
    """Preview the schedule of a task that runs after others, as the form names them."""
    try:
        when = after_when([parse_link(each) for each in links], mode or None)
        schedule = read_when(when, None, request.context.clock.now())
    except Refusal as refusal:
        return _problem(request, "", "", refusal)
    return SchedulePreview("", "", describe_schedule(schedule, request.viewer.language), schedule)


async def preview_task(request: PageRequest, when: str, zone: str, task_id: str) -> SchedulePreview:
    """Preview the stored schedule of a task, which continues from its past."""
    facts = await request.service.tasks.get(request.viewer.principal, task_id)
    preview = compute_task_preview(facts.task, facts.status, request.context.clock.now(), SHOWN_FIRES)
    return await _make_preview(request, when, zone, preview, FireChanges())


async def _make_preview(
    request: PageRequest, when: str, zone: str, preview: Preview, changes: FireChanges | None
) -> SchedulePreview:
    language = request.viewer.language
    return SchedulePreview(
        when,
        zone,
        describe_schedule(preview.schedule, language),
        preview.schedule,
        preview.fires,
        tuple(each.in_language(language) for each in preview.warnings),
        changes=changes,
        load=await _load_at(request, preview.fires),
        is_past=changes is None and any(each.code == "in_the_past" for each in preview.warnings),
    )


async def _fire_changes(request: PageRequest, task: Task, schedule: Schedule) -> FireChanges | None:
    try:
        edited = await request.service.tasks.edit(request.viewer.principal, task.id, Edits(when=schedule), dry_run=True)
    except Refusal:
        # What else is wrong with the task is shown when it is checked or saved.
        return None
    return edited.fires


async def _load_at(request: PageRequest, fires: Sequence[Fire]) -> int:
    """Return how many other tasks are due in the minute of the first fire; 0 where they are few or not known."""
    if not fires:
        return 0
    minute = _minute(fires[0].utc)
    upcoming = await request.service.tasks.upcoming(request.viewer.principal, _MAX_LOAD)
    dues = [due for facts in upcoming if (due := next_due(facts)) is not None]
    number = sum(_minute(due) == minute for due in dues)
    return number if number >= _NOTABLE_LOAD else 0


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


def _problem(request: PageRequest, when: str, zone: str, refusal: Refusal) -> SchedulePreview:
    language = request.viewer.language
    sentence = refusal.in_language(language)
    source, place = refusal.source or "", refusal.position
    parts = ("", "", "") if place is None else _split_at(source, place)
    choices = tuple(Choice(text, _meaning(request, text, zone)) for text in possible_texts(refusal))
    problem = TextProblem(sentence.message, sentence.hint, refusal.code, *parts)
    return SchedulePreview(when, zone, problem=problem, choices=choices)


def _split_at(source: str, place: int) -> tuple[str, str, str]:
    """Return the text before, at and after a place: a word in Latin letters or digits as a whole, else one character."""
    match = _WORD.match(source, place)
    end = place + 1 if match is None else match.end()
    return source[:place], source[place:end], source[end:]


def fields_problem(request: PageRequest, when: str, zone: str, refusal: Refusal) -> SchedulePreview:
    """Return the preview of structured fields that do not say a schedule: which field is missing."""
    language = request.viewer.language
    field = str(refusal.facts.get("name", "")).partition(".")[2]
    label = TEXTS[f"edit_field_{field}"].in_language(language) if f"edit_field_{field}" in TEXTS else field
    sentence = refusal.in_language(language)
    detail = f"{label}: {sentence.message}" if label else sentence.message
    return SchedulePreview(when, zone, problem=TextProblem(detail, sentence.hint, refusal.code))


def _meaning(request: PageRequest, text: str, zone: str) -> str:
    """Return the meaning of a choice; empty where it is still ambiguous."""
    try:
        assumed = zone_of_deployment(request.viewer.principal.owner, request.viewer.zone)
        reading = parse_schedule(text, read_zone(zone), assumed, request.context.clock.now())
    except InvalidSchedule:
        return ""
    return describe_schedule(reading.schedule, request.viewer.language)
