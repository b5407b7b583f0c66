"""Ordinary decisions of one transaction: where all are starts, or all successes, one statement may write them together."""

from __future__ import annotations

from typing import NamedTuple

from ...model.change import Change, OrdinaryStart, OrdinarySuccess
from ...model.entry import Entry
from ..codec.rows import new_tuple
from ..task_cache import CachedTask


class OrdinaryDecision(NamedTuple):
    """A tagged change, with the task and the entries that it was decided on."""

    known: CachedTask
    entries: tuple[Entry, ...]
    change: Change


class OrdinaryBatch:
    """Collects decisions of one kind: starts or successes, as the first one was."""

    def __init__(self) -> None:
        self.decisions: list[OrdinaryDecision] = []
        self.are_starts = False

    @property
    def emptied_tasks(self) -> list[int]:
        """Numbers of the tasks whose agenda is empty afterwards."""
        return [each.known.number for each in self.decisions if not each.change.put] if self.are_starts else []

    @property
    def event_count(self) -> int:
        return sum([len(each.change.events) for each in self.decisions])

    def add(self, known: CachedTask, entries: tuple[Entry, ...], change: Change) -> CachedTask | None:
        """Add a decision and return the task as changed; return None, without adding it, if it is of another kind."""
        starts = change.__class__ is OrdinaryStart
        if not starts and change.__class__ is not OrdinarySuccess:
            return None
        if not self.decisions:
            self.are_starts = starts
        elif starts is not self.are_starts:
            return None
        self.decisions.append(new_tuple(OrdinaryDecision, (known, entries, change)))
        return task_after(known, change)


def task_after(known: CachedTask, change: Change) -> CachedTask:
    """Return the task after an ordinary change."""
    return new_tuple(CachedTask, (known.number, known.version + 1, known.task, change.status, change.new_runs))
