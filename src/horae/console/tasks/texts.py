"""Texts about tasks and their runs: schedule, pause, outcome; in the language and the zone of the viewer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from ...choices import Language
from ...model.change import Facts
from ...model.lanes.route import describe_route
from ...model.pauses import pause_note
from ...model.reason import Reason, describe_reason
from ...model.run import Run
from ...model.task import Pause, PauseCause
from ...model.text.plain_text import first_line
from ...schedule import Once, Schedule
from ...schedule.after import with_names
from ...schedule.describe import describe_core, describe_schedule
from ...wire.tasks.task import NO_NAMES, OWNER_BLOCKED, waiting_for
from ..formats import format_clock, format_duration, format_lateness
from ..messages import TEXTS
from ..outcomes import run_sign
from ..viewer import Viewer

_WITHOUT_ZONE: Final = frozenset({"every", "now", "after"})
"""Kinds of schedules whose instants do not depend on the zone."""


_MAX_ERROR: Final = 4_000
_MAX_LINE: Final = 200


def describe_when(schedule: Schedule, language: Language, names: Mapping[str, str] = NO_NAMES) -> tuple[str, str]:
    """Return the sentence of a schedule with the city of its zone, and the whole meaning with modifiers and source.

    `names`: those of predecessors, by id."""
    schedule = with_names(schedule, names)
    zone, shown, needs_zone = schedule.zone, schedule, schedule.kind not in _WITHOUT_ZONE
    if isinstance(schedule, Once):
        shown, needs_zone = replace(schedule, at=schedule.at.replace(microsecond=0)), schedule.at.tzinfo is None
    core = describe_core(shown, language)
    if zone is not None and needs_zone:
        core = f"{core} {city_of(zone)}"
    return core, describe_schedule(schedule, language)


def city_of(zone: str) -> str:
    """Return the last part of the name of a zone."""
    return zone.rpartition("/")[2].replace("_", " ")


def other_zone(viewer: Viewer, zone: str | None, at: datetime | None) -> str | None:
    """Return the zone of a task if its clock shows another time than the viewer's at that instant."""
    if zone is None or at is None:
        return None
    own, other = at.astimezone(viewer.tz), at.astimezone(viewer._replace(zone=zone).tz)
    return None if own.utcoffset() == other.utcoffset() else zone


def describe_pause(viewer: Viewer, pause: Pause | None) -> str | None:
    """Return why and until when a task is paused; None if it is not."""
    if pause is None:
        return None
    language = viewer.language
    parts = [TEXTS[f"pause_{pause.cause.value}"].in_language(language)]
    note = pause_note(pause, language)
    has_own_note = pause.cause in (PauseCause.REQUESTED, PauseCause.ORPHANED, PauseCause.QUOTA)
    if note and has_own_note and note != parts[0]:
        parts.append(note)
    if pause.until is not None:
        parts.append(TEXTS["pause_until_time"].in_language(language, time=format_clock(pause.until, viewer)))
    return " · ".join(parts)


def describe_wait(viewer: Viewer, facts: Facts) -> str | None:
    """Return what a due entry of the task waits for; None if it waits for nothing."""
    kind, _, name = (waiting_for(facts, viewer.now) or "").partition(":")
    if not kind:
        return None
    if kind == OWNER_BLOCKED:
        shown = describe_reason(Reason(name), viewer.language)
    else:
        shown = describe_route(name) if kind == "node" else name
    return TEXTS[f"tasks_waits_{kind}"].in_language(viewer.language, what=shown)


def error_line(run: Run) -> str:
    """Return the first line of the error of a run, shortened, without escape sequences of terminals."""
    first = first_line((run.error or "")[:_MAX_ERROR])
    return first if len(first) <= _MAX_LINE else f"{first[: _MAX_LINE - 1]}…"


def outcome_label(viewer: Viewer, run: Run) -> str:
    """Return everything that a mark stands for: state, reason, due instant, lateness and duration."""
    language = viewer.language
    sign = run_sign(run, language)
    parts = [sign.word, f"{TEXTS['due'].in_language(language)} {format_clock(run.occurrence_due, viewer)}"]
    if run.span is not None and run.span.count > 1:
        parts.append(TEXTS["task_occurrences"].in_language(language, number=run.span.count))
    if run.lateness is not None:
        parts.append(format_lateness(run.lateness, language))
    if run.started is not None and run.ended is not None:
        duration = format_duration(run.ended - run.started, language)
        parts.append(f"{TEXTS['duration'].in_language(language)} {duration}")
    elif run.reason is not None:
        parts.append(describe_reason(run.reason, language))
    return ", ".join(parts)
