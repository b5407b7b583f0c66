"""Control decisions on request: pause, resume, cancel, delete, run now, skip next, cancel a run, retry a run."""

from __future__ import annotations

from datetime import datetime
from typing import Final, assert_never

from ...errors import Refusal
from ...model.change import Change, Facts
from ...model.entry import Entry, EntryKind, EntryState, slot_for
from ...model.events.event import EventKind
from ...model.gate import GateProgress
from ...model.ids import run_id
from ...model.inputs.run_input import RunInput, is_gate_check, with_gate
from ...model.origin import NO_SUCCESSORS
from ...model.outcome import Cancelled, Settlement
from ...model.plans.plan import plan_of
from ...model.policy import MissedMode, Overlap
from ...model.reason import Reason
from ...model.refusals import refuse
from ...model.run import Origin, Run, RunState
from ...model.task import NEW_TASK_STATUS, OPEN_STATES, Pause, PauseCause, TaskState
from ...model.text.field_checks import check_number
from ..agenda import retry_entry
from ..conclude import conclude
from ..due_backlog import MICROSECOND
from ..event_rows import run_event, skip_rows, task_event
from ..occurrence_end import cancel_waiting_runs
from ..overlap import OverlapAction, blocking_retries, decide_overlap, must_wait
from ..settle import settle
from .pause import end_pause, pause_open_task, restart_failed

MAX_SKIPS: Final = 10_000
_MAX_OTHER_REQUESTS: Final[dict[Overlap, int]] = {"skip": 0, "queue": 1}
"""Requested runs that may wait to start beside a new one; with the other overlap policies all of them run."""


def pause(
    facts: Facts,
    now: datetime,
    *,
    cause: PauseCause = PauseCause.REQUESTED,
    note: str = "",
    until: datetime | None = None,
) -> Change:
    """Pause a task: no run starts, live runs may end. Pausing a paused task changes its cause, note and end."""
    _check_open(facts, "pause", "暂停")
    if until is not None and until <= now:
        raise refuse("until_past", until=until.isoformat())
    return pause_open_task(facts, now, cause, note, until)


def restore_pause(facts: Facts, before: Pause | None, now: datetime) -> Change:
    """Give a task the pause that it had before, or none; a pause that would have ended meanwhile ends at its own end."""
    if before is not None and (before.until is None or before.until > now):
        change = pause(facts, now, cause=before.cause, note=before.note, until=before.until)
        status = change.status or facts.status
        return change._replace(status=status._replace(pause=before))
    if facts.status.pause is None:
        return Change()
    return end_pause(facts, now, until=None if before is None else before.until)


def pause_new_task(change: Change, now: datetime, note: str = "") -> Change:
    """Return the change that creates a task as paused, so that no run starts before a resume."""
    if change.task is None:
        return change
    paused = pause(Facts(change.task, change.status or NEW_TASK_STATUS, change.put), now, note=note)
    return change._replace(status=paused.status, put=paused.put, events=(*change.events, *paused.events))


def resume(facts: Facts, now: datetime, missed: MissedMode = "skip") -> Change:
    """Resume a paused task, or restart a failed one; `missed` decides about the occurrences that passed."""
    match facts.status.state:
        case TaskState.PAUSED:
            return end_pause(facts, now, missed)
        case TaskState.FAILED:
            return restart_failed(facts, now, missed)
        case TaskState.CANCELLED:
            raise refuse("task_cancelled")
        case TaskState.ACTIVE:
            return Change()
        case TaskState.COMPLETED:
            raise refuse(
                "task_over", id=facts.task.id, state=TaskState.COMPLETED.value, action="resume", action_zh="恢复"
            )
        case never:
            assert_never(never)


def cancel(facts: Facts, now: datetime) -> Change:
    """Cancel a task finally: live runs are asked to end, due occurrences are recorded, the history stays."""
    if facts.status.state is TaskState.CANCELLED:
        return Change()
    rows = skip_rows(facts, facts.entries, Reason.CANCELLED, now)
    ended = cancel_waiting_runs(facts.live, Reason.CANCELLED, now)
    executing = (run for run in facts.live if run.state is not RunState.WAITING)
    return Change(
        status=facts.status._replace(state=TaskState.CANCELLED, pause=None, reason=Reason.CANCELLED, ended=now),
        new_runs=rows,
        updated_runs=ended,
        cancelled=tuple((run.id, Reason.CANCELLED) for run in executing),
        dropped=tuple(entry.slot for entry in facts.entries),
        events=(
            *(run_event(run, now) for run in (*rows, *ended)),
            task_event(EventKind.TASK_CANCELLED, facts.task, now),
        ),
    )


def delete(facts: Facts, now: datetime, *, force: bool = False) -> Change:
    """Delete a task with its history; the event `task.deleted` remains. Refused while a node executes a run.

    A task that others run after is deleted only with `force`: these are then paused.
    """
    if facts.task.successors and not force:
        raise refuse("has_successors", name=facts.task.name, count=len(facts.task.successors), id=facts.task.id)
    if any(run.state is not RunState.WAITING for run in facts.live):
        raise refuse("still_running")
    # Nothing else of a deleted plan is left, by which its readers could know it.
    plan = plan_of(facts.task)
    detail = None if plan is None else plan.name
    return Change(deleted=True, events=(task_event(EventKind.TASK_DELETED, facts.task, now, detail),))


def run_now(facts: Facts, now: datetime, given: RunInput | None = None, *, fires: bool = True) -> Change:
    """Add one manual occurrence, with this input; the schedule does not move. Refused where the overlap policy would skip it.

    With `fires` False its end starts no successor.
    """
    return _add_manual_entry(facts, now, given, fires=fires)


def check_gate(facts: Facts, now: datetime, given: RunInput | None = None) -> Change:
    """Add one manual occurrence that asks the gate, with this input, and does not call the target.

    It changes neither the status of the task nor the state of the gate, waits for no other run, and starts no successor.
    """
    if facts.task.policies.gate is None:
        raise refuse("no_gate", id=facts.task.id, name=facts.task.name)
    return _add_manual_entry(facts, now, with_gate(given, GateProgress(only=True)), fires=False)


def _add_manual_entry(facts: Facts, now: datetime, given: RunInput | None, *, fires: bool) -> Change:
    task, planned = facts.task, now
    if facts.status.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    used_instants = {entry.planned for entry in facts.entries if entry.origin is Origin.MANUAL}
    used_instants |= {run.planned for run in facts.live if run.origin is Origin.MANUAL}
    while planned in used_instants:
        planned += MICROSECOND
    slot = slot_for(EntryKind.MANUAL, Origin.MANUAL, planned)
    request = Entry(
        task.id,
        slot,
        EntryKind.MANUAL,
        now,
        planned,
        task.owner,
        task.policies.priority,
        origin=Origin.MANUAL,
        input=given,
    )
    if must_wait(facts, request) and decide_overlap(facts, request) is OverlapAction.SKIP:
        raise _already_running(facts)
    _check_other_requests(facts, request)
    return Change(put=(request if fires else request._replace(chain=NO_SUCCESSORS),))


def _already_running(facts: Facts) -> Refusal:
    retries = () if facts.live else blocking_retries(facts)
    if not retries:
        return refuse("already_running")
    retry = retries[0]
    name = run_id(facts.task.id, retry.origin, retry.planned, retry.attempt - 1)
    return refuse("retry_waiting", id=name, attempt=retry.attempt, at=f"{retry.due:%Y-%m-%d %H:%M:%S}Z")


def _check_other_requests(facts: Facts, request: Entry) -> None:
    """Refuse a request that the overlap policy would skip: those that wait come due together when a node starts them.

    One check of the gate may wait; it is no hindrance to other requests.
    """
    is_check = is_gate_check(request.input)
    most = 0 if is_check else _MAX_OTHER_REQUESTS.get(facts.task.policies.overlap)
    waiting = [
        each for each in facts.entries if each.kind is EntryKind.MANUAL and is_gate_check(each.input) is is_check
    ]
    if most is not None and len(waiting) > most:
        entry = waiting[-1]
        name = run_id(facts.task.id, entry.origin, entry.planned, entry.attempt)
        code = "gate_check_requested" if is_check else "run_requested"
        raise refuse(code, id=name, task=facts.task.id, since=f"{entry.due:%Y-%m-%d %H:%M:%S}Z")


def skip_next(facts: Facts, count: int) -> Change:
    """Skip the next `count` scheduled occurrences; 0 withdraws the request."""
    _check_open(facts, "skip", "跳过")
    check_number("skip_next", count, 0, MAX_SKIPS)
    return Change(status=facts.status._replace(skips_left=count))


def cancel_run(facts: Facts, name: str, now: datetime) -> Change:
    """Ask the node of a run to end it; a run that waits for an external answer, or has not started, ends at once."""
    for run in facts.live:
        if run.id == name and run.state is RunState.WAITING:
            return settle(facts, run, Settlement(run.id, run.token, Cancelled(), run.started, now))
        if run.id == name:
            return Change(cancelled=((run.id, Reason.CANCELLED),))
    entry = requested_entry(facts, name)
    if entry is None:
        raise refuse("run_over", task=facts.task.id, state="ended")
    rows = skip_rows(facts, (entry,), Reason.CANCELLED, now)
    change = Change(new_runs=rows, dropped=(entry.slot,), events=tuple(run_event(row, now) for row in rows))
    return conclude(facts, change, now)


def requested_entry(facts: Facts, name: str) -> Entry | None:
    """The agenda entry of a run that was asked for and has not started; its id is known before it has a row."""
    for entry in facts.entries:
        is_one = entry.kind is EntryKind.MANUAL or (entry.kind is EntryKind.WAITING and entry.through is None)
        if is_one and run_id(facts.task.id, entry.origin, entry.planned, entry.attempt) == name:
            return entry
    return None


def _check_open(facts: Facts, action: str, action_zh: str) -> None:
    state = facts.status.state
    if state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    if state not in OPEN_STATES:
        raise refuse("task_over", id=facts.task.id, state=state.value, action=action, action_zh=action_zh)


_RETRYABLE: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST, RunState.CANCELLED})


def request_retry(facts: Facts, last: Run, now: datetime, given: RunInput | None = None) -> Change:
    """Queue another attempt with the same idempotency key; `last` is the last run of the occurrence.

    The attempt has the input of `last`, unless another one is given. A waiting retry becomes due now. A run that succeeded or never started is refused, as is a live one.
    """
    if facts.status.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    if is_gate_check(last.input):
        raise nothing_to_retry(last)
    for run in (*facts.live, *((last,) if last.live else ())):
        # Another attempt may have started since `last` was read.
        if (run.origin, run.planned) == (last.origin, last.planned):
            raise refuse("run_going", id=run.id)
    if facts.status.state is TaskState.PAUSED:
        raise refuse("task_paused", id=facts.task.id)
    waiting = _find_waiting_retry(facts, last)
    if waiting is not None:
        entry = waiting._replace(due=min(waiting.due, now), input=given or waiting.input)
        return Change(put=() if entry == waiting else (entry,))
    if last.state not in _RETRYABLE and not _is_unused_attempt(last):
        raise nothing_to_retry(last)
    entry = retry_entry(facts.task, facts.status, last, now)
    # The gate is asked again. All attempts so far are forgiven. While the task is open, the full number of attempts is available again;
    # a task that has ended gets this one attempt.
    return Change(put=(entry._replace(forgiven=last.attempt, deaths=0, input=given or with_gate(last.input, None)),))


def nothing_to_retry(last: Run) -> Refusal:
    planned = last.planned.isoformat().replace("+00:00", "Z")
    return refuse("nothing_to_retry", state=last.state.value, task=last.task_id, planned=planned)


def _is_unused_attempt(last: Run) -> bool:
    """Return whether a further attempt was skipped before it began: the attempt before it is the one that failed."""
    return last.state is RunState.SKIPPED and last.started is None and last.attempt > 1


def _find_waiting_retry(facts: Facts, last: Run) -> Entry | None:
    for entry in facts.entries:
        is_same = (entry.origin, entry.planned) == (last.origin, last.planned)
        if is_same and entry.kind is EntryKind.RETRY and entry.state is EntryState.TIMED:
            return entry
    return None
