"""Check of failure notices: failing and recovered alternate, once per incident, and match the state of the task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from horae.model.events.event import EventKind
from horae.model.task import TaskState
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence


def check_notices(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    for story in stories.values():
        yield from _check_task(evidence, story)


def _check_task(evidence: Evidence, story: TaskHistory) -> Iterator[Violation]:
    failing = False
    for number, event in story.events:
        if event.kind is EventKind.TASK_RESUMED and story.state_before(number) is TaskState.FAILED:
            failing = False  # resumed by a client: the incident is over
        elif event.kind in (EventKind.TASK_FAILING, EventKind.TASK_RECOVERED):
            if failing == (event.kind is EventKind.TASK_FAILING):
                yield Violation("notice", f"event {number}: {story.task_id} has {event.kind} out of order")
            failing = event.kind is EventKind.TASK_FAILING
    facts = evidence.facts.get(story.task_id)
    if facts is not None and failing != (0 < facts.task.policies.notify_after <= facts.status.failures):
        told = "failing" if failing else "well"
        yield Violation("notice", f"{story.task_id} is {told} as told, with {facts.status.failures} failures")
