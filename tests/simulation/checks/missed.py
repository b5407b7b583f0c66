"""Check of the missed policy: older occurrences give way to the newest, which is not skipped as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from horae.model.reason import Reason
from horae.model.run import Origin, Run
from horae.model.task import Task
from horae.schedule import Past, iterate
from tests.simulation.checks.planned_instants import counts_from_end
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence, Occurrence

_MADE_UP_FOR: Final = frozenset({Reason.MERGED, Reason.MISSED_SKIPPED})
_GIVEN_UP: Final = _MADE_UP_FOR | {Reason.STALE}


def check_missed(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    told = {event.run_id: number for number, event in evidence.events if event.run_id is not None}
    for run in evidence.runs.values():
        if run.reason not in _MADE_UP_FOR or run.origin is not Origin.SCHEDULED or run.id not in told:
            continue
        task = stories[run.task_id].definition_before(told[run.id])
        if run.reason is Reason.MERGED or _only_the_newest(stories[run.task_id], task, told[run.id]):
            following = _following(task, run)
            if following is not None and _gave_up(evidence, task, following):
                yield Violation(
                    "missed", f"{run.id} is {run.reason}, but the one after it, {following}, was not run either"
                )


def _only_the_newest(story: TaskHistory, task: Task, number: int) -> bool:
    """Under `all` the older ones beyond the limit are skipped, and the newest run; an edit skips them for another reason."""
    by_hand = (action.place for kind in ("edit", "resume") for action in story.committed(kind))
    inside = any(place is not None and place[0] < number <= place[1] for place in by_hand)
    return task.policies.missed.mode == "all" and not inside


def _following(task: Task, run: Run) -> datetime | None:
    if counts_from_end(task):
        return None
    return next(iterate(replace(task.schedule, repeat=None), run.planned, Past(task.created)), None)


def _gave_up(evidence: Evidence, task: Task, planned: datetime) -> bool:
    """Whether it shares the fate of those that it was to stand for; a row of a stretch is found by its last instant."""
    rows = evidence.occurrences.get(Occurrence(task.id, Origin.SCHEDULED, planned))
    if rows is not None:
        return rows[0].reason in _GIVEN_UP
    spans = (run for run in evidence.runs.values() if run.task_id == task.id and run.span is not None)
    return any(
        run.span.first <= planned <= run.span.last and run.reason in _GIVEN_UP for run in spans if run.span is not None
    )
