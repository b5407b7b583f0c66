"""Decisions about plans of Zero: creation with a past, skips, reset after a pause or an error; and the state and counters
that a plan shows, derived from the facts of its task and its newest runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ...errors import Refusal
from ...model.change import Change, Facts, combine_decisions
from ...model.entry import Entry, EntryKind
from ...model.events.event import EventKind
from ...model.ids import EPOCH
from ...model.plans.codes import PlanState, Status
from ...model.plans.plan import ENDLESS_SKIPS, RETRYING, SKIP_ALL, Plan
from ...model.plans.refusals import refuse
from ...model.reason import Reason
from ...model.run import Origin, Run, RunState
from ...model.task import NEW_TASK_STATUS, TaskState
from ..agenda import retry_entry
from ..conclude import conclude
from ..control.pause import end_pause, restart_failed
from ..due_backlog import MICROSECOND
from ..event_rows import count_occurrences, task_event
from ..occurrence import skip_due_backlog
from .results import execution_status

VISIBLE_AFTER_CLOSE: Final = timedelta(days=1)
"""A closed plan is shown so long; its runs stay in the ledger by retention."""
_SECOND: Final = timedelta(seconds=1)
_CLOSED: Final = frozenset({TaskState.COMPLETED, TaskState.CANCELLED})
_JUMPS: Final = frozenset({Reason.MISSED_SKIPPED, Reason.OVERLAP, Reason.STALE})
"""Reasons of occurrences that the plan passed over without a request: 「空跳」"""


class PlanStatus(NamedTuple):
    """What a plan shows beside its chosen fields; times are in Unix seconds, 0: none."""

    state: PlanState
    real_repet: int
    skip_set: int
    skip_num: int
    plan_time: int
    exec_time: int
    last_state: Status


def begin_plan(change: Change, plan: Plan, skips: int, now: datetime) -> Change:
    """Return the change that creates the task of a plan, with its skips, and without instants that are over already.

    「no_keep=false : 当设置为false时,所有小于计算时当前时间的都会跳过」: these are one row of the ledger, and count. A plan whose
    last instant is among them is completed: 「可能一次也未执行过」
    """
    task, status = change.task, change.status or NEW_TASK_STATUS
    if task is None:
        return change
    change = change._replace(status=status._replace(skips_left=skips))
    passed = [entry for entry in change.put if entry.kind is EntryKind.NEXT and entry.due < now]
    if plan.no_keep or not passed:
        return change

    def skip(facts: Facts) -> Change:
        until = now - MICROSECOND
        row = skip_due_backlog(facts, passed[0], Reason.MISSED_SKIPPED, until, now)
        after = row.status or facts.status
        left = max(0, after.skips_left - sum(count_of(run) for run in row.new_runs))
        return conclude(facts, row._replace(status=after._replace(skips_left=left)), now)

    return combine_decisions(Facts(task, status), change, skip)


def skip_plan(facts: Facts, number: int) -> Change:
    """Skip the next occurrences: n of them, all (-1), or none (0)."""
    return Change(status=facts.status._replace(skips_left=ENDLESS_SKIPS if number < 0 else number))


def reset_plan(facts: Facts, plan: Plan, last: Run | None, now: datetime) -> Change:
    """Put a paused plan, or one in error, back into the queue. The occurrence that failed is executed again.

    What passed meanwhile is caught up with `no_keep`, else skipped.
    """
    missed = "all" if plan.no_keep else "skip"
    state = facts.status.state
    if state is TaskState.PAUSED:
        return end_pause(facts, now, missed)  # type: ignore[arg-type]
    if state is not TaskState.FAILED:
        raise refuse("plan_closed" if state in _CLOSED else "plan_not_stopped", id=plan.hex_id)
    try:
        change = restart_failed(facts, now, missed)  # type: ignore[arg-type]
    except Refusal:
        # There is no later occurrence: only the failed one is left.
        status = facts.status._replace(state=TaskState.ACTIVE, failures=0, reason=None, ended=None)
        change = Change(status=status, events=(task_event(EventKind.TASK_RESUMED, facts.task, now),))
    if last is None:
        return change

    def retry(after: Facts) -> Change:
        entry = retry_entry(after.task, after.status, last, now)
        return Change(put=(entry._replace(forgiven=last.attempt, deaths=0),))

    return combine_decisions(facts, change, retry)


def is_closed(facts: Facts) -> bool:
    return facts.status.state in _CLOSED


def is_visible(facts: Facts, now: datetime) -> bool:
    """Return whether the plan is shown: an open one always, a closed one for a day."""
    ended = facts.status.ended
    return not is_closed(facts) or ended is None or now - ended < VISIBLE_AFTER_CLOSE


def plan_status(plan: Plan, facts: Facts, runs: Sequence[Run], now: datetime) -> PlanStatus:
    """Derive the state and the counters. `runs` are the newest runs of the task, newest first.

    Zero computes the next instant when an execution has ended: what passes until then is counted only then.
    """
    scheduled = [run for run in runs if run.origin is Origin.SCHEDULED]
    executed = next((run for run in scheduled if run.started is not None), None)
    current = _current_occurrence(facts, executed)
    uncounted = [] if current is None else [run for run in scheduled if run.planned > current and _is_passed(run)]
    failures = _failed_executions(facts, executed)
    skip_set, skip_num = _skips(plan, facts, [run for run in scheduled if run not in uncounted], failures)
    return PlanStatus(
        state=_state(facts, failures),
        real_repet=_real_repet(facts, uncounted, now, has_current=current is not None),
        skip_set=skip_set,
        skip_num=skip_num,
        plan_time=_plan_time(plan, facts, scheduled, current),
        exec_time=0 if executed is None else _seconds(executed.started),
        last_state=_last_state(facts, executed),
    )


def _current_occurrence(facts: Facts, executed: Run | None) -> datetime | None:
    """Return the planned instant that is executed or retried, or with which the plan has failed; None: there is none."""
    open_instants = [run.planned for run in facts.live if run.origin is Origin.SCHEDULED]
    open_instants += [entry.planned for entry in facts.entries if _is_retry(entry)]
    if open_instants:
        return min(open_instants)
    has_ended = facts.status.state in (TaskState.FAILED, TaskState.CANCELLED)
    is_unsuccessful = executed is not None and executed.state not in (RunState.SUCCEEDED, RunState.SKIPPED)
    return executed.planned if executed is not None and has_ended and is_unsuccessful else None


def _is_retry(entry: Entry) -> bool:
    return entry.kind is EntryKind.RETRY and entry.origin is Origin.SCHEDULED


def _is_passed(run: Run) -> bool:
    return run.state is RunState.SKIPPED and run.reason in (Reason.OVERLAP, Reason.CANCELLED)


def _state(facts: Facts, failures: int) -> PlanState:
    match facts.status.state:
        case TaskState.COMPLETED | TaskState.CANCELLED:
            return PlanState.CLOSED
        case TaskState.FAILED:
            return PlanState.ERROR
        case TaskState.PAUSED:
            return PlanState.PAUSED
        case _ if failures:
            return PlanState.RETRYING
        case _ if any(run.origin is Origin.SCHEDULED for run in facts.live):
            return PlanState.EXECUTING
        case _ if facts.status.skips_left:
            return PlanState.SKIPPING
        case _:
            return PlanState.QUEUED if facts.entries else PlanState.NONE


def _failed_executions(facts: Facts, executed: Run | None) -> int:
    """Return the failed executions of the occurrence that is retried, or with which the plan has failed; at most three."""
    numbers = [
        *(run.tries - 1 for run in facts.live if run.origin is Origin.SCHEDULED),
        *(entry.attempt - 1 - entry.forgiven for entry in facts.entries if _is_retry(entry)),
    ]
    if facts.status.state is TaskState.FAILED and executed is not None:
        numbers.append(executed.tries - 1)
    return max(numbers, default=0)


def _skips(plan: Plan, facts: Facts, runs: Sequence[Run], failures: int) -> tuple[int, int]:
    """Return `skip_set` and `skip_num`: -2 and the failed executions while an occurrence is retried, or has failed."""
    if failures or facts.status.state is TaskState.FAILED:
        return RETRYING, failures
    left = facts.status.skips_left
    if plan.skip_set == SKIP_ALL:
        return SKIP_ALL, ENDLESS_SKIPS - left
    if plan.skip_set:
        return plan.skip_set, plan.skip_set - left
    return 0, sum(count_of(run) for run in runs if run.state is RunState.SKIPPED and run.reason in _JUMPS)


def _real_repet(facts: Facts, uncounted: Sequence[Run], now: datetime, *, has_current: bool) -> int:
    """Return the occurrences that are over: executed, or skipped. One that is executed, retried, queued or failed is not."""
    waiting = [entry for entry in facts.entries if entry.kind is EntryKind.WAITING and entry.origin is Origin.SCHEDULED]
    outstanding = sum(count_occurrences(facts, entry, now) for entry in waiting) + has_current
    return max(0, facts.status.counted - outstanding - sum(count_of(run) for run in uncounted))


def _plan_time(plan: Plan, facts: Facts, runs: Sequence[Run], current: datetime | None) -> int:
    """Return the instant that is executed or retried, else the next one, else the last one."""
    if current is not None:
        return _seconds(current)
    planned = [entry.planned for entry in facts.entries if entry.kind in (EntryKind.WAITING, EntryKind.NEXT)]
    if planned:
        return _seconds(min(planned))
    return _seconds(runs[0].planned) if runs else plan.plan_time


def _last_state(facts: Facts, executed: Run | None) -> Status:
    if facts.status.state is TaskState.FAILED:
        return Status.PLAN_ERROR
    if any(run.origin is Origin.SCHEDULED for run in facts.live):
        return Status.RUNNING
    return Status.NONE if executed is None else execution_status(executed)


def count_of(run: Run) -> int:
    return 1 if run.span is None else run.span.count


def _seconds(at: datetime | None) -> int:
    return 0 if at is None else (at - EPOCH) // _SECOND
