"""An agenda entry: one small row for each thing that will come due, or waits for its turn."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from .ids import microseconds
from .run import Origin, Span


class EntryKind(StrEnum):
    NEXT = "next"
    """The task's next scheduled occurrence; a task has at most one."""
    WAITING = "waiting"
    """Occurrences that run one by one, each when the former has ended: overlap waiters, a backlog, a backfill."""
    RETRY = "retry"
    """An occurrence that is tried again."""
    MANUAL = "manual"
    """Somebody said: now."""
    RESUME = "resume"
    """A pause ends."""
    DEADLINE = "deadline"
    """Somebody else holds the run, and has until then to answer."""


class Stand(StrEnum):
    """Where an entry stands. Only timed and ready ones can be claimed."""

    TIMED = "timed"
    """In order of its due instant."""
    READY = "ready"
    """Overdue in a backlog: in its owner's queue, by priority. Only stores move entries here."""
    HELD = "held"
    """Waits until the task has no run going."""
    PARKED = "parked"
    """Waits for a seat in a full lane."""
    ASLEEP = "asleep"
    """The task is paused."""


CLAIMABLE: Final = frozenset({Stand.TIMED, Stand.READY})


class Entry(NamedTuple):
    """Unique by task and slot. `through` ends a range that starts at `planned`; `span` is what a merged run stands for.

    `waited` marks an instant that was met in time and only had to wait for its turn: it is not missed. `in_order` marks a
    backlog that runs one by one: its occurrences end, retries included, before the next one starts.
    """

    task_id: str
    slot: str
    kind: EntryKind
    due: datetime
    planned: datetime
    owner: str
    priority: int = 0
    stand: Stand = Stand.TIMED
    origin: Origin = Origin.SCHEDULED
    attempt: int = 1
    forgiven: int = 0
    deaths: int = 0
    through: datetime | None = None
    span: Span | None = None
    waited: bool = False
    in_order: bool = False
    lane: str | None = None
    run_id: str | None = None


NEXT_SLOT: Final = "next"
RESUME_SLOT: Final = "resume"


def slot_for(kind: EntryKind, origin: Origin, planned: datetime) -> str:
    """Distinct for distinct occurrences, so that an entry can be put again without knowing what was there."""
    return f"{kind}/{origin}/{microseconds(planned)}"
