"""What a person may do to a task: pause, resume, cancel, delete, skip, run now. Each is one decision on its facts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from ..model.change import Change, Facts
from ..model.checks import check_number
from ..model.entry import RESUME_SLOT, Entry, EntryKind, Stand, slot_for
from ..model.event import EventKind
from ..model.limits import NOTE_CHARACTERS, shortened
from ..model.outcome import Cancelled, Settlement
from ..model.policy import MissedMode
from ..model.reason import Reason
from ..model.refusals import refuse
from ..model.run import Origin, Run, RunState
from ..model.task import Pause, PauseCause, TaskState
from .leaving import account_for
from .resuming import awake, start_again
from .settle import settle
from .telling import task_event, told

_MICROSECOND: Final = timedelta(microseconds=1)
MOST_SKIPS: Final = 10_000
_OVER: Final = (TaskState.COMPLETED, TaskState.FAILED)
_RESTLESS: Final = (EntryKind.DEADLINE, EntryKind.RESUME)


def pause(
    facts: Facts,
    now: datetime,
    *,
    cause: PauseCause = PauseCause.REQUESTED,
    note: str = "",
    until: datetime | None = None,
) -> Change:
    """Nothing of it starts from here on; what goes on already may end. Pausing again changes why, and until when."""
    _refuse_when_over(facts, "pause", "暂停")
    if until is not None and until <= now:
        raise refuse("until_past", until=until.isoformat())
    task, standing = facts.task, facts.standing
    since = standing.pause.since if standing.pause is not None else now
    asleep = [e._replace(stand=Stand.ASLEEP, lane=None) for e in facts.entries if e.kind not in _RESTLESS]
    if until is not None:
        asleep.append(Entry(task.id, RESUME_SLOT, EntryKind.RESUME, until, until, task.owner))
    paused = Pause(since, cause, shortened(note, NOTE_CHARACTERS), until)
    return Change(
        standing=standing._replace(state=TaskState.PAUSED, pause=paused),
        put=tuple(asleep),
        dropped=() if until is not None else _slots(facts, EntryKind.RESUME),
        events=(task_event(EventKind.TASK_PAUSED, task, now, cause.value),),
    )


def resume(facts: Facts, now: datetime, missed: MissedMode = "skip") -> Change:
    """Go on, and say what becomes of what was missed. What had given up starts again from here."""
    match facts.standing.state:
        case TaskState.PAUSED:
            return awake(facts, now, missed)
        case TaskState.FAILED:
            return start_again(facts, now)
        case TaskState.CANCELLED:
            raise refuse("task_cancelled")
        case TaskState.ACTIVE | TaskState.COMPLETED:
            return Change(dropped=_slots(facts, EntryKind.RESUME))


def cancel(facts: Facts, now: datetime) -> Change:
    """For good: nothing starts any more, what goes on is asked to end, what waited is recorded. The history stays."""
    if facts.standing.state is TaskState.CANCELLED:
        return Change()
    task = facts.task
    rows = account_for(facts, facts.entries, Reason.CANCELLED, now)
    ended = tuple(
        run._replace(state=RunState.CANCELLED, reason=Reason.CANCELLED, ended=now, deadline=None)
        for run in facts.live
        if run.state is RunState.WAITING
    )
    return Change(
        standing=facts.standing._replace(state=TaskState.CANCELLED, pause=None, reason=Reason.CANCELLED, ended=now),
        born=rows,
        moved=ended,
        cancelled=_ask_to_end(facts.live),
        dropped=tuple(entry.slot for entry in facts.entries),
        events=(*(told(run, now) for run in (*rows, *ended)), task_event(EventKind.TASK_CANCELLED, task, now)),
    )


def delete(facts: Facts, now: datetime) -> Change:
    """The task and its history go; that it was deleted is still told."""
    if any(run.state is not RunState.WAITING for run in facts.live):
        raise refuse("still_running")
    return Change(deleted=True, events=(task_event(EventKind.TASK_DELETED, facts.task, now),))


def run_now(facts: Facts, now: datetime) -> Change:
    """One extra occurrence; the schedule does not move. Where overlap would skip it, whoever asks is told at once."""
    task = facts.task
    if facts.standing.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    if facts.live and task.policies.overlap == "skip":
        raise refuse("already_running")
    planned = now
    taken = {entry.slot for entry in facts.entries} | {
        slot_for(EntryKind.MANUAL, r.origin, r.planned) for r in facts.live
    }
    while slot_for(EntryKind.MANUAL, Origin.MANUAL, planned) in taken:
        planned += _MICROSECOND
    slot = slot_for(EntryKind.MANUAL, Origin.MANUAL, planned)
    entry = Entry(
        task.id, slot, EntryKind.MANUAL, now, planned, task.owner, task.policies.priority, origin=Origin.MANUAL
    )
    return Change(put=(entry,))


def skip_next(facts: Facts, wanted: int) -> Change:
    """The next so many scheduled occurrences are recorded as skipped; 0 takes the wish back."""
    _refuse_when_over(facts, "skip", "跳过")
    check_number("skip_next", wanted, 0, MOST_SKIPS)
    return Change(standing=facts.standing._replace(skips_left=wanted))


def cancel_run(facts: Facts, run_id: str, now: datetime) -> Change:
    """One run is asked to end; what nobody here holds ends at once."""
    for run in facts.live:
        if run.id != run_id:
            continue
        if run.state is RunState.WAITING:
            return settle(facts, run, Settlement(run.id, run.token, Cancelled(), run.started, now))
        return Change(cancelled=((run.id, Reason.CANCELLED),))
    raise refuse("run_over", state="ended")


def _ask_to_end(live: tuple[Run, ...]) -> tuple[tuple[str, Reason], ...]:
    return tuple((run.id, Reason.CANCELLED) for run in live if run.state is not RunState.WAITING)


def _slots(facts: Facts, kind: EntryKind) -> tuple[str, ...]:
    return tuple(entry.slot for entry in facts.entries if entry.kind is kind)


def _refuse_when_over(facts: Facts, wish: str, wish_zh: str) -> None:
    state = facts.standing.state
    if state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    if state in _OVER:
        raise refuse("task_over", state=state.value, wish=wish, wish_zh=wish_zh)
