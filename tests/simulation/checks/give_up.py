"""Check of give_up_after: a task fails after exactly so many failed occurrences in a row; a success resets the count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from horae.model.events.event import EventKind
from horae.model.reason import Reason
from horae.model.run import Origin, Run, RunState
from horae.model.task import TaskState
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.timeline import ENDS
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence, Occurrence

_FAILURES = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})


def check_give_up(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    for story in stories.values():
        yield from _check_task(evidence, story)


def _check_task(evidence: Evidence, story: TaskHistory) -> Iterator[Violation]:
    """Follow one task by its events; a missing give-up is reported one event later."""
    failures, must, known_from = 0, False, 0
    for place, (number, event) in enumerate(story.events):
        state = story.state_before(number)
        if event.kind is EventKind.TASK_FAILED:
            if event.detail != Reason.QUARANTINED and not must:
                yield Violation("give_up", f"event {number}: {story.task_id} gave up after {failures} failures")
            must = False
        elif must and number > known_from:
            yield Violation("give_up", f"event {number}: {story.task_id} goes on after {failures} failures")
            return
        if event.kind is EventKind.TASK_RESUMED and state is TaskState.FAILED:
            failures = 0
        run = None if event.run_id is None else evidence.runs.get(event.run_id)
        if run is None or event.kind not in ENDS or not _is_last(evidence, story, run, place):
            continue
        if run.state is RunState.SUCCEEDED:
            failures = 0
        elif run.origin is Origin.SCHEDULED and run.state in _FAILURES:
            failures += 1
            most = story.policies_before(number).give_up_after
            must = most is not None and failures >= most and state in (TaskState.ACTIVE, TaskState.PAUSED)
            known_from = _end_of_commit(story, place)


def _is_last(evidence: Evidence, story: TaskHistory, run: Run, place: int) -> bool:
    """Whether this was the end of its occurrence, and not an attempt that is to be followed by another."""
    following = story.events[place + 1].event if place + 1 < len(story.events) else None
    if following is not None and following.kind is EventKind.RUN_RETRYING and following.run_id == run.id:
        return False
    if run.state is not RunState.LOST:
        return True
    rows = evidence.occurrences[Occurrence(run.task_id, run.origin, run.planned)]
    return rows[-1].id == run.id and not _to_be_tried_again(evidence, run)


def _to_be_tried_again(evidence: Evidence, run: Run) -> bool:
    entries = evidence.facts[run.task_id].entries
    return any(entry.planned == run.planned and entry.origin is run.origin for entry in entries)


def _end_of_commit(story: TaskHistory, place: int) -> int:
    """Events of one commit carry one instant, and follow each other without a gap."""
    number, event = story.events[place]
    for later, other in story.events[place + 1 :]:
        if later != number + 1 or other.at != event.at or other.kind is EventKind.RUN_STARTED:
            break
        number = later
    return number
