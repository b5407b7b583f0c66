"""Check of retries: failures with attempts left and losses that the guarantee allows are retried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from horae.model.events.event import EventKind
from horae.model.run import Origin, Run, RunState
from horae.model.task import TaskState
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.timeline import ENDS
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence, Occurrence

_BOUND_OF_DEATHS: Final = 5
_GOING: Final = (TaskState.ACTIVE, TaskState.PAUSED)


def check_retries(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    for_good = {deed.run_id for deed in evidence.history.deeds if deed.for_good}
    told_again = {event.run_id for _, event in evidence.events if event.kind is EventKind.RUN_RETRYING}
    for number, event in evidence.events:
        run = None if event.run_id is None else evidence.runs.get(event.run_id)
        if run is None or event.kind not in ENDS or not _wanted(stories[run.task_id], run, number):
            continue
        if run.state in (RunState.FAILED, RunState.TIMED_OUT) and run.id not in for_good | told_again:
            yield Violation("retry", f"event {number}: {run.id} is {run.state}, has tries left, and is not tried again")
        elif (run.state is RunState.LOST or run.id in told_again) and not _followed(evidence, run):
            yield Violation("retry", f"event {number}: {run.id} is {run.state}, and nothing came after it")


def check_retries_that_count_as_running(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    """With `superseded_by_next: false` no new occurrence starts between a failed attempt and the next one."""
    started = {event.run_id: number for number, event in evidence.events if event.kind is EventKind.RUN_STARTED}
    ended = {event.run_id: number for number, event in evidence.events if event.kind in ENDS}
    told_again = {event.run_id for _, event in evidence.events if event.kind is EventKind.RUN_RETRYING}
    for occurrence, rows in evidence.occurrences.items():
        story = stories[occurrence.task_id]
        if not _keeps_retries(story):
            continue
        others = [
            run
            for run in evidence.runs.values()
            if run.task_id == occurrence.task_id and run.attempt == 1 and not run.in_order and run.id in started
        ]
        for before, after in pairwise(rows):
            if before.id not in told_again or before.id not in ended or after.id not in started:
                continue
            for run in others:
                if ended[before.id] < started[run.id] < started[after.id]:
                    yield Violation("6", f"{run.id} starts while {after.id} waits and counts as running")


def _keeps_retries(story: TaskHistory) -> bool:
    """Whether retries counted as running all the time: an edit or a pause may have let others start."""
    return not list(story.committed("pause")) and all(
        not task.policies.retry.superseded_by_next and task.policies.overlap in ("skip", "queue", "queue_all")
        for _, task in story.definitions
    )


def _wanted(story: TaskHistory, run: Run, number: int) -> bool:
    """Whether its task wants another attempt, by the policies of that moment."""
    policies, state = story.policies_before(number), story.state_before(number)
    if state not in _GOING if run.origin is Origin.SCHEDULED else state is TaskState.CANCELLED:
        return False
    if run.state is RunState.LOST:
        never_started = run.started is None
        return run.deaths + 1 < _BOUND_OF_DEATHS and (policies.guarantee == "at_least_once" or never_started)
    attempts = 1 if policies.guarantee == "at_most_once" else policies.retry.attempts
    return run.state in (RunState.FAILED, RunState.TIMED_OUT) and (attempts is None or run.tries < attempts)


def _followed(evidence: Evidence, run: Run) -> bool:
    """By another attempt, by a row that says why there was none, or by one that still waits."""
    if evidence.occurrences[Occurrence(run.task_id, run.origin, run.planned)][-1].attempt > run.attempt:
        return True
    entries = evidence.facts[run.task_id].entries
    return any((entry.origin, entry.planned) == (run.origin, run.planned) for entry in entries)
