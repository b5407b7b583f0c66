"""Form of the simple view: the fields of a task as text, and the request or the edits that a filled-in form means."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from ..choices import Language
from ..errors import Refusal
from ..model.change import Facts
from ..model.task import Task, TaskState
from ..schedule import Cron, Every, Now, Once, Schedule, to_json
from ..schedule.describe import describe_core, describe_schedule
from ..schedule.text.zone_words import CHINESE_CITIES
from ..schedule.zones import find_zone
from ..service.tasks.default_zone import AssumedZone
from ..service.tasks.edits import Edits
from ..service.tasks.previews import PreviewRequest, compute_preview
from ..service.tasks.task_request import TaskRequest, When
from ..wire.problems import problem_json
from ..wire.tasks.text_tasks import SURFACE, UPDATED, replace_text, text_of, text_request, with_labels
from .formats import format_day_and_clock
from .refusals import refuse
from .request import Form
from .viewer import Viewer

Kind: TypeAlias = Literal["rule", "every", "once"]
KINDS: Final[tuple[Kind, ...]] = ("rule", "every", "once")
UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_ZONES: Final = (
    "Asia/Shanghai",
    "Asia/Hong_Kong",
    "Asia/Taipei",
    "Asia/Singapore",
    "Asia/Tokyo",
    "Europe/London",
    "Europe/Berlin",
    "America/New_York",
    "America/Los_Angeles",
    "UTC",
)
"""Suggestions of the field for the zone; it accepts every other zone too."""
_MAX_DIGITS: Final = 9
_PREVIEWED: Final = 3
_SECOND: Final = timedelta(seconds=1)


class SimpleForm(NamedTuple):
    """`rule` is text in the schedule language or a cron expression, `at` a wall time in `zone`. `text` None: the target
    of the task takes no text."""

    name: str = ""
    kind: Kind = "rule"
    rule: str = ""
    amount: str = ""
    unit: str = "m"
    at: str = ""
    zone: str = "UTC"
    text: str | None = ""
    enabled: bool = True
    version: str = ""

    @property
    def when(self) -> tuple[str, ...]:
        """Fields of the chosen kind that decide when the task runs."""
        match self.kind:
            case "every":
                return self.kind, self.amount, self.unit
            case "once":
                return self.kind, self.at
            case _:
                return self.kind, self.rule

    def to_fields(self) -> dict[str, str]:
        """Return the fields as a browser sends them; without a version, so that they apply to any."""
        fields = {name: value for name, value in self._asdict().items() if isinstance(value, str) and name != "version"}
        return fields | ({"enabled": "1"} if self.enabled else {})


def read_form(form: Form) -> SimpleForm:
    kind, unit = form.text("kind"), form.text("unit")
    return SimpleForm(
        form.text("name"),
        kind if kind in KINDS else "rule",
        form.text("rule"),
        form.text("amount"),
        unit if unit in UNITS else "m",
        form.text("at"),
        read_zone(form.text("zone")),
        form.text("text") if "text" in form else None,
        form.text("enabled") == "1",
        form.text("version"),
    )


def read_zone(text: str) -> str:
    """Return the zone of a Chinese place (北京时间, 上海); every other text as it is."""
    return CHINESE_CITIES.get(text.removesuffix("时间"), text)


def suggested_zones(first: str, language: Language) -> dict[str, str]:
    """Return zones to choose from, with their Chinese names for Chinese viewers."""
    names = {zone: f"{city}时间" for city, zone in reversed(CHINESE_CITIES.items())} if language == "zh" else {}
    return {zone: names.get(zone, "") for zone in (first, *_ZONES)}


def form_of(facts: Facts, viewer: Viewer) -> SimpleForm:
    """Return the form that shows a task as it is."""
    task = facts.task
    filled = SimpleForm(
        name=task.name,
        zone=task.schedule.zone or viewer.zone,
        text=text_of(task),
        enabled=facts.status.state is TaskState.ACTIVE,
        version=str(task.version),
    )
    match task.schedule:
        case Once(at=at):
            return filled._replace(kind="once", at=_wall_time(at, filled.zone))
        case Now():
            return filled._replace(kind="once")
        case Every(interval=interval) if not interval % _SECOND:
            amount, unit = _split(interval // _SECOND)
            return filled._replace(kind="every", amount=str(amount), unit=unit)
        case schedule:
            return filled._replace(kind="rule", rule=rule_text(schedule, viewer.language))


def rule_text(schedule: Schedule, language: Language) -> str:
    """Return text that parses back to the schedule in its zone: a plain cron expression as it is, otherwise words."""
    if isinstance(schedule, Cron) and schedule == Cron(schedule.expression, zone=schedule.zone):
        return schedule.expression
    core = describe_core(schedule, language)
    # The zone has a field of its own; moments within a longer description are in the zone that it names.
    has_more = describe_schedule(replace(schedule, zone=None), language) != core
    return describe_schedule(schedule, language) if has_more else core


def read_new(form: SimpleForm, orchestrator: str | None, now: datetime) -> TaskRequest:
    find_zone(form.zone)
    return text_request(orchestrator, form.name, _read_when(form, None), form.text or "", zone=form.zone, now=now)


def read_edits(before: SimpleForm, after: SimpleForm, task: Task, now: datetime) -> Edits:
    """Return the edits between two forms of a task. A time that was sent back as it was shown is no edit."""
    find_zone(after.zone)
    edits = Edits() if after.name == before.name else Edits(name=after.name)
    if after.when != before.when or (after.zone != before.zone and after.kind == "once"):
        edits = edits._replace(when=_read_when(after, task.schedule), zone=after.zone)
    elif after.zone != before.zone:
        edits = edits._replace(zone=after.zone)
    if before.text is not None and after.text is not None and after.text != before.text:
        edits = replace_text(task, after.text, edits)
    if edits != Edits() and SURFACE in dict(task.labels):
        edits = edits._replace(labels=with_labels(task, {UPDATED: now.isoformat()}))
    return edits


class PreviewedFire(NamedTuple):
    at: datetime
    text: str
    """Day and time in the zone of the form."""


class SimplePreview(NamedTuple):
    """Meaning of a time and its next instants, or the problem of one that is not understood."""

    means: str = ""
    fires: tuple[PreviewedFire, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: dict[str, Any] | None = None


def preview_of(form: SimpleForm, viewer: Viewer) -> SimplePreview | None:
    """Return the preview of a form; None while its time is empty."""
    if not any(form.when[1:]) or (form.kind == "every" and not form.amount):
        return None
    language = viewer.language
    try:
        find_zone(form.zone)
        when = _read_when(form, None)
        question = PreviewRequest(
            to_json(when) if isinstance(when, Schedule) else when,
            form.zone,
            AssumedZone(form.zone, ("", "")),
            number=_PREVIEWED,
        )
        seen = compute_preview(question, viewer.now)
    except Refusal as error:
        return SimplePreview(problem=problem_json(error, language))
    warnings = tuple(each.in_language(language) for each in seen.warnings)
    fires = tuple(PreviewedFire(each.utc, format_day_and_clock(each.utc, viewer, each.zone)) for each in seen.fires)
    return SimplePreview(describe_core(seen.schedule, language), fires, warnings)


def _read_when(form: SimpleForm, current: Schedule | None) -> When:
    match form.kind:
        case "every":
            interval = _read_interval(form)
            # Like `interval` of /scheduled-tasks, a new one counts from the end of the last run.
            return (
                replace(current, interval=interval, zone=form.zone)
                if isinstance(current, Every)
                else Every(interval, "end", zone=form.zone)
            )
        case "once":
            return _read_wall_time(form.at)
        case _:
            return form.rule


def _read_interval(form: SimpleForm) -> timedelta:
    if not form.amount.isdecimal() or len(form.amount) > _MAX_DIGITS:
        raise refuse("simple_bad_interval", value=form.amount)
    return int(form.amount) * UNITS[form.unit] * _SECOND


def _read_wall_time(text: str) -> str:
    """Return a date and time of a browser's field as text in the schedule language."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise refuse("simple_no_time") from None
    if at.tzinfo is not None or "T" not in text.upper().replace(" ", "T"):
        raise refuse("simple_no_time")
    return f"{at:%Y-%m-%d %H:%M:%S}"


def _wall_time(at: datetime, zone: str) -> str:
    """Return the value of a browser's field for date and time, without seconds where they are zero."""
    local = at if at.tzinfo is None else at.astimezone(ZoneInfo(zone))
    return f"{local:%Y-%m-%dT%H:%M}" if not local.second else f"{local:%Y-%m-%dT%H:%M:%S}"


def _split(seconds: int) -> tuple[int, str]:
    """Return the largest unit in which the interval is a whole number."""
    unit = next(name for name in reversed(UNITS) if not seconds % UNITS[name])
    return seconds // UNITS[unit], unit
