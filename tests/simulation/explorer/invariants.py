"""Invariants of the explorer: in every store state, in every step, and at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from horae.lifecycle.chain import FIRING_STATES
from horae.model.entry import CONTROL_KINDS
from horae.model.lanes.lane import DEFAULT_LIMIT
from horae.model.run import INITIAL_STATES, TRANSITIONS, Origin, Run, RunState
from horae.model.task import OPEN_STATES, Task, TaskState, TaskStatus
from horae.model.task import TRANSITIONS as TASK_TRANSITIONS
from horae.schedule import After
from tests.simulation.explorer.scope import instants
from tests.simulation.explorer.snapshot import Snapshot


class InvariantViolation(Exception):  # noqa: N818 - that is what it is
    """The explorer has found what must never happen."""


_STARTABLE: Final = frozenset({TaskState.ACTIVE})
_OVER: Final = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})


# --- one moment --------------------------------------------------------------------------------------------------


def violations_in(tasks: Sequence[Task], moment: Snapshot) -> Iterator[str]:
    yield from _crowded(tasks, moment)
    yield from _doubled(moment)
    yield from _unexplained(moment)
    for task, standing in zip(tasks, moment.standings, strict=True):
        yield from _dropped(task, standing, moment)
        if standing.state in _OVER and any(entry.task_id == task.id for entry in moment.entries):
            yield f"{task.name} is {standing.state}, but something of it is still on the agenda"


def _crowded(tasks: Sequence[Task], moment: Snapshot) -> Iterator[str]:
    """One live run per occurrence, per task unless it may overlap, and per seat of a lane."""
    live = [run for run in moment.runs if run.live]
    occurrences = Counter((run.task_id, run.origin, run.planned) for run in live)
    seats = Counter(lane for run in live for lane in run.lanes)
    if any(count > 1 for count in occurrences.values()):
        yield "two live runs of one occurrence"
    if any(count > DEFAULT_LIMIT for count in seats.values()):
        yield "more runs in a lane than it has seats"
    for task in tasks:
        if task.policies.overlap != "parallel" and sum(run.task_id == task.id for run in live) > 1:
            yield f"two runs of {task.name} at once, and its overlap policy does not allow that"


def _doubled(moment: Snapshot) -> Iterator[str]:
    """An occurrence stands on the agenda once, not while a run of it goes on, and never for an attempt that was made."""
    made = {(run.task_id, run.origin, run.planned, run.attempt) for run in moment.runs}
    live = {(run.task_id, run.origin, run.planned) for run in moment.runs if run.live}
    seen: set[object] = set()
    for entry in moment.entries:
        if entry.kind in CONTROL_KINDS:
            continue
        occurrence = (entry.task_id, entry.origin, entry.planned)
        if (*occurrence, entry.attempt) in made:
            yield "the agenda holds an attempt that was made already"
        if occurrence in live:
            yield "the agenda holds an occurrence that goes on"
        if occurrence in seen:
            yield "the agenda holds an occurrence twice"
        seen.add(occurrence)


def _unexplained(moment: Snapshot) -> Iterator[str]:
    for run in moment.runs:
        if not run.live and run.reason is None and run.state is not RunState.SUCCEEDED:
            yield f"a run ended as {run.state} without a reason"


def _dropped(task: Task, standing: TaskStatus, moment: Snapshot) -> Iterator[str]:
    """An occurrence that has tries left goes on, unless its task is over or something newer took its place."""
    if standing.state in (TaskState.CANCELLED, TaskState.FAILED):
        return
    waiting = {(entry.origin, entry.planned) for entry in moment.entries if entry.task_id == task.id}
    attempts = task.policies.retry.attempts
    for run in _last_runs(task, moment):
        if run.live and attempts is not None and run.tries > attempts:
            yield f"{task.name} is tried more often than it may be"
        if (run.origin, run.planned) not in waiting and _has_tries_left(task, run, moment):
            yield f"an occurrence of {task.name} ended as {run.state}, but it had tries left"


def _last_runs(task: Task, moment: Snapshot) -> tuple[Run, ...]:
    last: dict[tuple[Origin, datetime], Run] = {}
    for run in sorted((run for run in moment.runs if run.task_id == task.id), key=lambda run: run.attempt):
        last[run.origin, run.planned] = run
    return tuple(last.values())


def _has_tries_left(task: Task, run: Run, moment: Snapshot) -> bool:
    if task.policies.guarantee == "at_most_once":
        return False
    if run.state is RunState.LOST:
        return True
    attempts = task.policies.retry.attempts
    return run.state is RunState.FAILED and (attempts is None or failures_of(run, moment) < attempts)


def failures_of(run: Run, moment: Snapshot) -> int:
    """How often the target itself was heard to fail at this occurrence."""
    return sum(
        other.state is RunState.FAILED
        and (other.task_id, other.origin, other.planned) == (run.task_id, run.origin, run.planned)
        for other in moment.runs
    )


# --- one step ----------------------------------------------------------------------------------------------------


def violations_between(tasks: Sequence[Task], before: Snapshot, after: Snapshot, now: datetime) -> Iterator[str]:
    """`after` is as the store wrote it, with instants and tokens."""
    born = {run.id: run for run in after.runs}
    standings = {task.id: standing for task, standing in zip(tasks, before.standings, strict=True)}
    for old in before.runs:
        new = born.pop(old.id, None)
        if new is not old:
            yield from _mishandled(old, new)
            yield from _forgotten(old, new, standings[old.task_id], after)
    for run in born.values():
        yield from _misborn(run, standings[run.task_id], before.token, now)
    for was, now_is in zip(before.standings, after.standings, strict=True):
        if now_is.state is not was.state and now_is.state not in TASK_TRANSITIONS[was.state]:
            yield f"a task that was {was.state} became {now_is.state}"


def _mishandled(old: Run, new: Run | None) -> Iterator[str]:
    if new is None:
        yield f"a row has vanished: {old.state}"
    elif new != old and not old.live:
        yield f"an ended run has changed: {old.state} became {new.state}"
    elif new.state is not old.state and new.state not in TRANSITIONS[old.state]:
        yield f"{old.state} cannot become {new.state}"
    elif new.token != old.token:
        yield "a run's token has changed"


def _forgotten(old: Run, new: Run | None, standing: TaskStatus, after: Snapshot) -> Iterator[str]:
    """What provably never started is queued again, also where it may be run at most once."""
    if new is None or (old.state, new.state) != (RunState.CLAIMED, RunState.LOST) or standing.state not in OPEN_STATES:
        return
    if not any((entry.task_id, entry.planned) == (old.task_id, old.planned) for entry in after.entries):
        yield "what never started is not queued again"


def _misborn(run: Run, standing: TaskStatus, token: int, now: datetime) -> Iterator[str]:
    if run.state not in INITIAL_STATES:
        yield f"a run was born {run.state}"
    if not run.live:
        return
    if run.due > now or run.planned > now:
        yield "a run was claimed before its instant"
    if run.token <= token:
        yield "a token did not rise"
    if standing.state not in _STARTABLE:
        yield f"a run was claimed while its task was {standing.state}"


# --- the end -----------------------------------------------------------------------------------------------------


def violations_at_end(tasks: Sequence[Task], moment: Snapshot) -> Iterator[str]:
    """Nothing will come any more: every planned instant has ended in exactly one outcome, with a reason."""
    for task, standing in zip(tasks, moment.standings, strict=True):
        if standing.state is TaskState.PAUSED:
            continue
        if standing.state not in _OVER and not isinstance(task.schedule, After):
            yield f"{task.name} is {standing.state}, but nothing of it is left"
        for planned in instants(task):
            if standing.state is TaskState.CANCELLED and standing.ended is not None and planned > standing.ended:
                continue
            outcomes = _outcomes(task, planned, moment)
            if outcomes != _expected_outcomes(task, moment):
                yield f"the instant {planned:%H:%M} of {task.name} has {outcomes} outcomes"


def _expected_outcomes(task: Task, moment: Snapshot) -> int:
    """One; none for a task whose predecessor has not ended as its link says."""
    if not isinstance(task.schedule, After):
        return 1
    (link,) = task.schedule.links
    runs = [run for run in moment.runs if run.task_id == link.task]
    last = max(runs, key=lambda run: run.attempt, default=None)
    return int(last is not None and last.state in FIRING_STATES[link.on])


def _outcomes(task: Task, planned: datetime, moment: Snapshot) -> int:
    """Attempts at an instant count as one; a stretch that covers it is another."""
    mine = [run for run in moment.runs if run.task_id == task.id]
    stretches = sum(run.span is not None and run.span.first <= planned <= run.span.last for run in mine)
    attempts = sorted(run.attempt for run in mine if run.span is None and run.planned == planned)
    unbroken = attempts == list(range(1, len(attempts) + 1))
    return stretches + (1 if attempts and unbroken else len(attempts))


def most_effects(task: Task, planned: datetime, moment: Snapshot) -> int:
    """How often the work of an instant may have been done by now: once per run that was given, and never twice where
    the task says so; runs that were lost or handed back do not use up tries."""
    runs = [run for run in moment.runs if run.task_id == task.id and run.planned == planned]
    given = [run for run in runs if run.state is not RunState.SKIPPED and run.state is not RunState.CLAIMED]
    if task.policies.guarantee == "at_most_once":
        return min(1, len(given))
    lost = sum(run.state in (RunState.LOST, RunState.CANCELLED) for run in given)
    return min(len(given), (task.policies.retry.attempts or len(given)) + lost)
