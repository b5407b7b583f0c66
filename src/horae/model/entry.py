"""Agenda entry: one queue row per occurrence, retry, waiter, resume or deadline that will come due."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from .ids import to_microseconds
from .inputs.run_input import RunInput
from .origin import ChainPlace
from .run import Origin, Span


class EntryKind(StrEnum):
    NEXT = "next"
    """The task's next scheduled occurrence; a task has at most one."""
    WAITING = "waiting"
    """Occurrences that run one by one, each after the previous one has ended: overlap waiters, a backlog, a backfill."""
    RETRY = "retry"
    """Next attempt of an occurrence."""
    MANUAL = "manual"
    """Occurrence that a caller requested (`run now`)."""
    CHAIN = "chain"
    """Occurrence that the end of a predecessor's occurrence started."""
    RESUME = "resume"
    """End of a pause."""
    DEADLINE = "deadline"
    """Answer deadline of a run that waits for an external answer."""
    START_DEADLINE = "start_deadline"
    """Earliest instant at which a waiting entry of the task may no longer start (`start_within`); a task has at most one."""


class EntryState(StrEnum):
    """Claimability of an entry. Only timed and ready ones can be claimed."""

    TIMED = "timed"
    """Queued by its due instant."""
    READY = "ready"
    """Overdue in a backlog: queued per owner, by priority. Only stores move entries to this state."""
    HELD = "held"
    """Waits until the task has no live run."""
    PARKED = "parked"
    """Waits for a slot in a full lane."""
    ASLEEP = "asleep"
    """Waits because the task is paused."""


CONTROL_KINDS: Final = frozenset({EntryKind.RESUME, EntryKind.DEADLINE, EntryKind.START_DEADLINE})
"""Entries that lead to no run: they need no target, lane or label."""
MAX_REPARKS: Final = 8
"""An entry that was parked again that often goes before all others of its lane."""
CLAIMABLE: Final = frozenset({EntryState.TIMED, EntryState.READY})


class Entry(NamedTuple):
    """Unique by task and slot. `through` ends a range that starts at `planned`; `span` holds the occurrences of a merged run.

    `waited` marks an instant that came due in time and waited for an earlier run: it is not missed. `in_order` marks a
    backlog that runs one by one: an occurrence ends, retries included, before the next one starts. `input` is that of the
    runs which start from this entry.
    """

    task_id: str
    slot: str
    kind: EntryKind
    due: datetime
    planned: datetime
    owner: str
    priority: int = 0
    state: EntryState = EntryState.TIMED
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
    input: RunInput | None = None
    chain: ChainPlace | None = None
    reparks: int = 0
    """How often it got a free slot and found another lane full, up to `MAX_REPARKS`."""


NEXT_SLOT: Final = "next"
RESUME_SLOT: Final = "resume"
START_DEADLINE_SLOT: Final = "start_deadline"


def slot_for(kind: EntryKind, origin: Origin, planned: datetime) -> str:
    """Return a slot that is unique per occurrence, so that putting an entry again replaces it without a read."""
    return f"{kind}/{origin}/{to_microseconds(planned)}"
