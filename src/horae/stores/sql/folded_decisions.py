"""Folded decisions: a transaction with only ordinary starts, or only ordinary successes, is written by one statement."""

from __future__ import annotations

from typing import Final, NamedTuple

from ...model.change import NOTHING, Change
from ...model.entry import Entry, EntryState
from ...model.events.event import EventKind
from ...model.run import LIVE_STATES, RunState
from ...model.task import TaskState
from ..codec.rows import PLAIN_RUN_FIELDS, new_tuple
from ..task_cache import CachedTask

_EMPTY_REST: Final = NOTHING[9:]


class FoldedDecision(NamedTuple):
    """A change, with the task and the entries that it was decided on."""

    known: CachedTask
    entries: tuple[Entry, ...]
    change: Change


class FoldedDecisions:
    """Collects decisions of one kind: starts or successes, as the first one was."""

    def __init__(self) -> None:
        self.decisions: list[FoldedDecision] = []
        self.are_starts = False

    @property
    def emptied_tasks(self) -> list[int]:
        """Numbers of the tasks whose agenda is empty afterwards."""
        return [noted[0][0] for noted in self.decisions if not noted[2][5]] if self.are_starts else []

    def add(self, known: CachedTask, entries: tuple[Entry, ...], change: Change) -> CachedTask | None:
        """Add a decision and return the task as changed; return None, without adding it, if it is of another kind."""
        births = bool(change[2])
        if self.decisions and births is not self.are_starts:
            return None
        changed_task = _after_start(known, entries, change) if births else _after_success(known, change)
        if changed_task is not None:
            self.are_starts = births
            self.decisions.append(new_tuple(FoldedDecision, (known, entries, change)))
        return changed_task


def _after_start(known: CachedTask, entries: tuple[Entry, ...], change: Change) -> CachedTask | None:
    """Return the task after an ordinary start: the only entry of a task without live runs became a run, and was removed or
    moved to the next occurrence. None for anything else."""
    _, standing, born, _, _, put, *_ = change
    number, version, task, before, live, _ = known
    if standing is None or live or len(born) != 1 or len(entries) != 1 or entries[0][16] is not None:
        return None
    run = born[0]
    if run[13:] != PLAIN_RUN_FIELDS or run[8] is not None or run[7] not in LIVE_STATES:
        return None
    events = ((EventKind.RUN_STARTED, run[11], run[2], task[0], run[0], None),)
    if put and (len(put) != 1 or not _is_only_later(entries[0], put[0])):
        return None
    dropped = () if put else (entries[0][1],)
    if change != (None, standing, born, (), (), put, dropped, events, False, *_EMPTY_REST):
        return None
    if standing != (before[0], before[1] + 1, *before[2:]):
        return None
    return new_tuple(CachedTask, (number, version + 1, task, standing, born, (0,)))


def _is_only_later(before: Entry, entry: Entry) -> bool:
    """Whether the two entries differ only in their instants."""
    return entry == (*before[:3], entry[3], entry[4], *before[5:7], EntryState.TIMED, *before[8:])


def _after_success(known: CachedTask, change: Change) -> CachedTask | None:
    """Return the task after an ordinary success: the only live run succeeded, the agenda is unchanged, and the task stays
    active or is completed. None for anything else."""
    _, standing, _, moved, *_ = change
    number, version, task, prior, live, _ = known
    if standing is None or len(live) != 1 or len(moved) != 1 or prior[0] is not TaskState.ACTIVE:
        return None
    before, run, state = live[0], moved[0], standing[0]
    now = run[13]
    ended = (*before[:7], RunState.SUCCEEDED, None, *before[9:12], run[12], now, None, *before[15:22], run[22], None)
    if run != ended or before[21] or run[12] is None:
        return None
    events: tuple[tuple[object, ...], ...] = ((EventKind.RUN_SUCCEEDED, now, run[2], task[0], run[0], None),)
    if state is TaskState.COMPLETED:
        events = (*events, (EventKind.TASK_COMPLETED, now, run[2], task[0], None, None))
    elif state is not TaskState.ACTIVE:
        return None
    if change != (None, standing, (), moved, (), (), (), events, False, *_EMPTY_REST):
        return None
    end = now if state is TaskState.COMPLETED else prior[8]
    if standing != (state, prior[1], 0, prior[3], now, standing[5], prior[6], prior[7], end):
        return None
    return new_tuple(CachedTask, (number, version + 1, task, standing, (), ()))
