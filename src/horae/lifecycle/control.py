"""What a person may do to a task: pause, resume, cancel, delete, skip, run now. Each is one decision on its facts."""

from __future__ import annotations

from datetime import datetime
from typing import Final, assert_never

from ..model.change import Change, Facts
from ..model.entry import RESUME_SLOT, Entry, EntryKind, Stand, slot_for
from ..model.events.event import EventKind
from ..model.field_checks import check_number
from ..model.ids import run_id
from ..model.limits import NOTE_CHARACTERS, shortened
from ..model.outcome import Cancelled, Settlement
from ..model.policy import MissedMode, Overlap
from ..model.reason import Reason
from ..model.refusals import refuse
from ..model.run import Origin, RunState
from ..model.task import FRESH, GOING, Pause, PauseCause, TaskState
from .conclude import conclude
from .due_backlog import MICROSECOND
from .entry_removal import account_for
from .event_rows import task_event, told
from .occurrence_end import unheld
from .overlap import Meeting, in_the_way, meet
from .resume import awake, start_again
from .settle import settle

MOST_SKIPS: Final = 10_000
_RESTLESS: Final = (EntryKind.DEADLINE, EntryKind.RESUME)
_REQUESTS_BESIDE: Final[dict[Overlap, int]] = {"skip": 0, "queue": 1}
"""How many requested runs may wait to start beside a new one; with the other overlap policies all of them run."""


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
    since = now if standing.pause is None else standing.pause.since
    put = [e._replace(stand=Stand.ASLEEP, lane=None) for e in facts.entries if e.kind not in _RESTLESS]
    if until is not None:
        put.append(Entry(task.id, RESUME_SLOT, EntryKind.RESUME, until, until, task.owner, task.policies.priority))
    paused = Pause(since, cause, shortened(note, NOTE_CHARACTERS), until)
    return Change(
        standing=standing._replace(state=TaskState.PAUSED, pause=paused),
        put=tuple(put),
        dropped=() if until is not None else _resume_slots(facts),
        events=(task_event(EventKind.TASK_PAUSED, task, now, cause.value),),
    )


def made_paused(change: Change, now: datetime, note: str = "") -> Change:
    """A task that is made and paused in one: nothing of it starts before somebody says so."""
    if change.task is None:
        return change
    stopped = pause(Facts(change.task, change.standing or FRESH, change.put), now, note=note)
    return change._replace(standing=stopped.standing, put=stopped.put, events=(*change.events, *stopped.events))


def resume(facts: Facts, now: datetime, missed: MissedMode = "skip") -> Change:
    """Go on, and say what becomes of what was missed. What had given up starts again."""
    match facts.standing.state:
        case TaskState.PAUSED:
            return awake(facts, now, missed)
        case TaskState.FAILED:
            return start_again(facts, now, missed)
        case TaskState.CANCELLED:
            raise refuse("task_cancelled")
        case TaskState.ACTIVE:
            return Change()
        case TaskState.COMPLETED:
            raise refuse("task_over", id=facts.task.id, state=TaskState.COMPLETED.value, wish="resume", wish_zh="恢复")
        case never:
            assert_never(never)


def cancel(facts: Facts, now: datetime) -> Change:
    """For good: nothing starts any more, what goes on is asked to end, what was due is recorded. The history stays."""
    if facts.standing.state is TaskState.CANCELLED:
        return Change()
    rows = account_for(facts, facts.entries, Reason.CANCELLED, now)
    ended = unheld(facts.live, Reason.CANCELLED, now)
    held = (run for run in facts.live if run.state is not RunState.WAITING)
    return Change(
        standing=facts.standing._replace(state=TaskState.CANCELLED, pause=None, reason=Reason.CANCELLED, ended=now),
        born=rows,
        moved=ended,
        cancelled=tuple((run.id, Reason.CANCELLED) for run in held),
        dropped=tuple(entry.slot for entry in facts.entries),
        events=(*(told(run, now) for run in (*rows, *ended)), task_event(EventKind.TASK_CANCELLED, facts.task, now)),
    )


def delete(facts: Facts, now: datetime) -> Change:
    """The task and its history go; that it was deleted is still told."""
    if any(run.state is not RunState.WAITING for run in facts.live):
        raise refuse("still_running")
    return Change(deleted=True, events=(task_event(EventKind.TASK_DELETED, facts.task, now),))


def run_now(facts: Facts, now: datetime) -> Change:
    """One extra occurrence; the schedule does not move. Where overlap would skip it, whoever asks is told at once."""
    task, planned = facts.task, now
    if facts.standing.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    taken = {entry.planned for entry in facts.entries if entry.origin is Origin.MANUAL}
    taken |= {run.planned for run in facts.live if run.origin is Origin.MANUAL}
    while planned in taken:
        planned += MICROSECOND
    slot = slot_for(EntryKind.MANUAL, Origin.MANUAL, planned)
    wish = Entry(
        task.id, slot, EntryKind.MANUAL, now, planned, task.owner, task.policies.priority, origin=Origin.MANUAL
    )
    if in_the_way(facts, wish) and meet(facts, wish) is Meeting.SKIP:
        raise refuse("already_running")
    _refuse_where_others_wait(facts)
    return Change(put=(wish,))


def _refuse_where_others_wait(facts: Facts) -> None:
    """The overlap policy would skip one more request: those that wait come due together when a node starts them."""
    most = _REQUESTS_BESIDE.get(facts.task.policies.overlap)
    waiting = [entry for entry in facts.entries if entry.kind is EntryKind.MANUAL]
    if most is not None and len(waiting) > most:
        entry = waiting[-1]
        name = run_id(facts.task.id, entry.origin, entry.planned, entry.attempt)
        raise refuse("run_requested", id=name, task=facts.task.id, since=f"{entry.due:%Y-%m-%d %H:%M:%S}Z")


def skip_next(facts: Facts, wanted: int) -> Change:
    """The next so many scheduled occurrences are recorded as skipped; 0 takes the wish back."""
    _refuse_when_over(facts, "skip", "跳过")
    check_number("skip_next", wanted, 0, MOST_SKIPS)
    return Change(standing=facts.standing._replace(skips_left=wanted))


def cancel_run(facts: Facts, name: str, now: datetime) -> Change:
    """One run is asked to end; what no node holds ends at once, and what has not started leaves the agenda."""
    for run in facts.live:
        if run.id == name and run.state is RunState.WAITING:
            return settle(facts, run, Settlement(run.id, run.token, Cancelled(), run.started, now))
        if run.id == name:
            return Change(cancelled=((run.id, Reason.CANCELLED),))
    entry = requested_entry(facts, name)
    if entry is None:
        raise refuse("run_over", task=facts.task.id, state="ended")
    rows = account_for(facts, (entry,), Reason.CANCELLED, now)
    change = Change(born=rows, dropped=(entry.slot,), events=tuple(told(row, now) for row in rows))
    return conclude(facts, change, now)


def requested_entry(facts: Facts, name: str) -> Entry | None:
    """The agenda entry of a run that was asked for and has not started; its id is known before it has a row."""
    for entry in facts.entries:
        is_one = entry.kind is EntryKind.MANUAL or (entry.kind is EntryKind.WAITING and entry.through is None)
        if is_one and run_id(facts.task.id, entry.origin, entry.planned, entry.attempt) == name:
            return entry
    return None


def _resume_slots(facts: Facts) -> tuple[str, ...]:
    return tuple(entry.slot for entry in facts.entries if entry.kind is EntryKind.RESUME)


def _refuse_when_over(facts: Facts, wish: str, wish_zh: str) -> None:
    state = facts.standing.state
    if state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    if state not in GOING:
        raise refuse("task_over", id=facts.task.id, state=state.value, wish=wish, wish_zh=wish_zh)
