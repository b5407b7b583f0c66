"""Previews of catching up: what each way to resume a task would run and skip, and what a backfill would run."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import NamedTuple

from ...errors import Refusal
from ...lifecycle.control import control
from ...lifecycle.due_backlog import MICROSECOND, without_repeat
from ...model.change import Change, Facts
from ...model.entry import Entry, EntryKind
from ...model.policy import MissedMode
from ...model.run import Origin
from ...model.task import Task, TaskStatus, past_of
from ...schedule import count, iterate

_MODES: tuple[MissedMode, ...] = ("skip", "latest", "all")


class ResumeChoice(NamedTuple):
    """One way to resume a task: of the occurrences that passed meanwhile, `runs` would run and `skipped` would not."""

    mode: MissedMode
    runs: int
    skipped: int


def compute_resume_choices(facts: Facts, now: datetime) -> tuple[ResumeChoice, ...]:
    """Return what each mode would do now; empty if the task cannot be resumed."""
    choices: list[ResumeChoice] = []
    for mode in _MODES:
        try:
            change = control.resume(facts, now, mode)
        except Refusal:
            return ()
        choices.append(_choice(facts, mode, change))
    return tuple(choices)


def _choice(facts: Facts, mode: MissedMode, change: Change) -> ResumeChoice:
    status = change.status or facts.status
    queued = [entry for entry in change.put if entry.kind is EntryKind.WAITING]
    runs = sum(count_entry(facts.task, status, entry) for entry in queued)
    return ResumeChoice(mode, runs, sum(1 if run.span is None else run.span.count for run in change.new_runs))


def count_entry(task: Task, status: TaskStatus, entry: Entry) -> int:
    """Return the number of occurrences that an agenda entry still has to run."""
    if entry.through is None:
        return 1
    past = past_of(task, status)
    return count(without_repeat(task.schedule), entry.planned - MICROSECOND, entry.through, past)


class BackfillPreview(NamedTuple):
    """Occurrences of a past range: their number and the first of them."""

    first: datetime
    last: datetime
    number: int
    instants: tuple[datetime, ...]


def compute_backfill(facts: Facts, first: datetime, last: datetime, listed: int = 5) -> BackfillPreview:
    """Return what a backfill from `first` to `last` would run, whether or not it is allowed."""
    schedule, past = without_repeat(facts.task.schedule), past_of(facts.task, facts.status)
    before = first - MICROSECOND
    instants = tuple(islice(iterate(schedule, before, past, until=last), listed))
    return BackfillPreview(first, last, count(schedule, before, last, past), instants)


def count_backfill_left(facts: Facts) -> int:
    """Return the number of backfilled occurrences that are queued or run now."""
    queued = [entry for entry in facts.entries if entry.origin is Origin.BACKFILL]
    live = sum(run.origin is Origin.BACKFILL for run in facts.live)
    return live + sum(count_entry(facts.task, facts.status, entry) for entry in queued)
