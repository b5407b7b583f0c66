"""Pause of a task: its entries sleep, and an entry ends the pause at its planned end."""

from __future__ import annotations

from datetime import datetime

from ...model.change import Change, Facts
from ...model.entry import CONTROL_KINDS, RESUME_SLOT, Entry, EntryKind, EntryState
from ...model.events.event import EventKind
from ...model.limits import NOTE_CHARACTERS, shorten
from ...model.task import Pause, PauseCause, TaskState
from ..event_rows import task_event
from ..start_deadline import with_start_deadline


def pause_open_task(
    facts: Facts, now: datetime, cause: PauseCause, note: str = "", until: datetime | None = None
) -> Change:
    """Pause an open task: no run starts, live runs may end. Pausing a paused task changes its cause, note and end."""
    task, status = facts.task, facts.status
    since = now if status.pause is None else status.pause.since
    put = [e._replace(state=EntryState.ASLEEP, lane=None) for e in facts.entries if e.kind not in CONTROL_KINDS]
    if until is not None:
        put.append(Entry(task.id, RESUME_SLOT, EntryKind.RESUME, until, until, task.owner, task.policies.priority))
    paused = Pause(since, cause, shorten(note, NOTE_CHARACTERS), until)
    change = Change(
        status=status._replace(state=TaskState.PAUSED, pause=paused),
        put=tuple(put),
        dropped=() if until is not None else _resume_slots(facts),
        events=(task_event(EventKind.TASK_PAUSED, task, now, cause.value),),
    )
    return with_start_deadline(facts, change)


def _resume_slots(facts: Facts) -> tuple[str, ...]:
    return tuple(entry.slot for entry in facts.entries if entry.kind is EntryKind.RESUME)
