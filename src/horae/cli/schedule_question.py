"""Preview of a typed schedule for `horae next`, `explain` and `add`: default zone, next fires, warnings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from ..choices import Fold, Gap, Language
from ..errors import InvalidSchedule, Refusal, Sentence
from ..model.task import OPEN_STATES, Task, TaskStatus, past_of
from ..schedule.canonical import read_moment, to_json
from ..schedule.evaluate import iterate
from ..schedule.instants import to_datetime
from ..schedule.lint import lint
from ..schedule.preview import make_fires
from ..schedule.refusals import refuse
from ..schedule.text import parse_text
from ..schedule.text.zone_words import resolve_zone
from ..schedule.value import Past, first_instant, is_wall, last_instant
from ..schedule.zones import find_zone
from ..service.tasks.default_zone import AssumedZone, needs_zone, zone_of_owner
from ..service.tasks.task_request import TaskRequest
from ..settings import DefaultZone, Settings
from .output.schedule_text import Answer
from .session.command_session import CommandSession
from .session.open_store import process_zone


@dataclass(frozen=True, slots=True)
class Question:
    """Arguments of a preview. `assumed`: the zone where neither `zone` nor the text names one; None: the zone of this process."""

    text: str
    zone: str | None
    language: Language
    after: str | None = None
    until: str | None = None
    number: int = 3
    gap: Gap | None = None
    fold: Fold | None = None
    assumed: AssumedZone | None = None


def answer_question(question: Question, settings: Settings, now: datetime) -> Answer:
    now = now.replace(microsecond=0)  # the output has whole seconds
    default = process_zone(question.zone, settings)
    assumed = question.assumed or zone_of_process(default)
    zone = resolve_default_zone(default) if question.zone is not None else assumed.name
    text = question.text.strip()
    local_zone = _zone_of_text(text, now) or zone
    after = now if question.after is None else _parse_instant("after", question.after, local_zone)
    until = None if question.until is None else _parse_instant("until", question.until, local_zone, last=True)
    reading = parse_text(text, zone=zone, now=after)
    schedule = reading.schedule.with_defaults(zone, question.gap, question.fold)
    instants = islice(iterate(schedule, after, Past(anchor=after), until=until), question.number)
    warnings = lint(schedule, after, notes=reading.notes)
    if default.origin != "flag" and not reading.named_zone and needs_zone(text, after):
        warnings.insert(0, assumed.warning())
    return Answer(
        text, schedule, make_fires(local_zone, instants), warnings, after, question.language, to_json(schedule)
    )


def answer_for_task(task: Task, status: TaskStatus, question: Question, now: datetime) -> Answer:
    """Preview the schedule of an existing task; it continues from the past of the task."""
    now = now.replace(microsecond=0)
    schedule, zone = task.schedule, task.schedule.zone or "UTC"
    after = now if question.after is None else _parse_instant("after", question.after, zone)
    until = None if question.until is None else _parse_instant("until", question.until, zone, last=True)
    instants = islice(iterate(schedule, after, past_of(task, status), until=until), question.number)
    return Answer(
        task.name,
        schedule,
        make_fires(zone, instants),
        [each for each in lint(schedule, after) if each.code != "in_the_past" or status.state in OPEN_STATES],
        after,
        question.language,
        to_json(schedule),
    )


def _zone_of_text(text: str, now: datetime) -> str | None:
    """Return the zone in the text, which is also the zone of wall times in the options; None where it names none."""
    try:
        return parse_text(text, zone=None, now=now).schedule.zone
    except InvalidSchedule:
        return None  # the caller parses again and refuses


def resolve_default_zone(default: DefaultZone) -> str:
    """Return the zone name of the default; also accepts cities. An unknown zone of the machine becomes UTC."""
    try:
        return resolve_zone(default.name, None)
    except InvalidSchedule as refusal:
        if default.origin == "machine":
            return "UTC"
        if default.origin == "environment":
            raise refuse("unknown_zone_setting", variable=default.source, value=default.name) from None
        raise refusal from None


def _parse_instant(option: str, text: str, zone: str, *, last: bool = False) -> datetime:
    """Parse an instant; with `last`, a date means the end of its day, as in a schedule."""
    moment = read_moment(text.strip())
    if moment is None:
        wanted = "a time such as 2026-03-01T15:00 or 2026-03-01T15:00Z"
        raise refuse("bad_value", key=f"--{option}", value=text, wanted=wanted)
    resolve = last_instant if last else first_instant
    return to_datetime(resolve(moment, find_zone(zone if is_wall(moment) else "UTC"))).astimezone(UTC)


def zone_of_process(default: DefaultZone) -> AssumedZone:
    """Return the zone of the settings or of this machine, with the reason for it."""
    reasons = {
        "environment": (f"{default.source} says so", f" {default.source} 是这样设置的"),
        "machine": ("it is this machine's", "这是本机的时区"),
        "nowhere": ("this machine names none either", "本机也没有设置时区"),
        "flag": (f"{default.source} says so", f" {default.source} 是这样设置的"),
    }
    return AssumedZone(resolve_default_zone(default), reasons[default.origin])


@contextmanager
def hint_explain_command(text: str) -> Iterator[None]:
    """Context manager: `never_fires` refusals get a hint with the `horae explain` command for the typed text."""
    try:
        yield
    except Refusal as refused:
        if refused.code != "never_fires":
            raise
        command = f"horae explain {shlex.quote(text)}"
        en, zh = refused.in_language("en"), refused.in_language("zh")
        sentences: dict[Language, Sentence] = {
            "en": en._replace(hint=f"Check its start, end and repeat: {command}"),
            "zh": zh._replace(hint=f"请检查它的起止时间和重复次数：{command}"),
        }
        raise type(refused)(refused.code, sentences, facts=refused.facts) from None


async def owner_zone(app: CommandSession, owner: str | None = None) -> AssumedZone | None:
    """Return the zone of an owner (None: of the caller), which takes precedence over that of the process, or None."""
    own = await app.owner()
    name = own if owner is None else owner
    try:
        zone = (await app.service.accounts.get(app.principal, name)).zone
    except Refusal:
        return None
    return None if zone is None else zone_of_owner(name, zone, own=name == own)


async def with_assumed_zone(app: CommandSession, request: TaskRequest) -> tuple[TaskRequest, AssumedZone | None]:
    """Return the request with the zone of its owner, else of this process, if neither the request nor its function names
    one. The zone is returned too if the schedule's instants depend on it."""
    if (await app.resolve(request)).request.zone is not None:
        return request, None
    assumed = await owner_zone(app, request.owner) or zone_of_process(app.default_zone)
    depends = isinstance(request.when, str) and needs_zone(request.when, app.clock.now())
    return request._replace(zone=assumed.name), assumed if depends else None
