"""Hold and release of one task while its owner moves to another deployment.

Held, a task starts nothing, whatever its live runs do. Its status and its entries say so themselves, so that they can be
copied as they are, and released from what was copied.
"""

from __future__ import annotations

from datetime import datetime

from ...model.change import Change, Facts
from ...model.entry import CONTROL_KINDS, Entry, EntryKind, EntryState
from ...model.task import Pause, PauseCause, TaskState
from ..conclude import conclude


def hold_task(facts: Facts, now: datetime) -> Change | None:
    """Put all entries of a task to sleep, and pause it if it is active; None if it is held already.

    The answer deadline of a waiting run stays: it ends the run. No event is written: the task is not paused for its owner.
    """
    put = tuple(
        entry._replace(state=EntryState.ASLEEP, lane=None) for entry in facts.entries if _must_be_put_to_sleep(entry)
    )
    if facts.status.state is TaskState.ACTIVE:
        held = facts.status._replace(state=TaskState.PAUSED, pause=Pause(now, PauseCause.OWNER_MOVING))
        return Change(status=held, put=put)
    return Change(put=put) if put else None


def is_held(facts: Facts) -> bool:
    """Whether nothing of the task can start and nothing of it runs."""
    is_idle = not facts.live and not any(map(_must_be_put_to_sleep, facts.entries))
    return is_idle and facts.status.state is not TaskState.ACTIVE


def release_task(facts: Facts, since: datetime, now: datetime) -> Change:
    """Wake the entries of a task that was held since an instant. What came due since then has waited: it is not missed."""
    status = facts.status
    is_moving = status.pause is not None and status.pause.cause is PauseCause.OWNER_MOVING
    is_paused = status.state is TaskState.PAUSED and not is_moving
    put = tuple(
        entry._replace(state=EntryState.TIMED, waited=entry.waited or _came_due(entry, since, now))
        for entry in facts.entries
        if entry.state is EntryState.ASLEEP and (not is_paused or entry.kind in CONTROL_KINDS)
    )
    if not is_moving:
        return Change(put=put)
    return conclude(facts, Change(status=status._replace(state=TaskState.ACTIVE, pause=None), put=put), now)


def _must_be_put_to_sleep(entry: Entry) -> bool:
    return entry.state is not EntryState.ASLEEP and entry.kind is not EntryKind.DEADLINE


def _came_due(entry: Entry, since: datetime, now: datetime) -> bool:
    return entry.kind is EntryKind.NEXT and since <= entry.due <= now
