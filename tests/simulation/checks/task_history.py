"""History of a task from committed actions and events: definitions, pauses, end."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from horae.model.events.event import Event, EventKind, NumberedEvent
from horae.model.policy import Policies
from horae.model.task import Task, TaskPast, TaskState
from tests.simulation.evidence import Evidence
from tests.simulation.history import Action

_STATES = {
    EventKind.TASK_CREATED: TaskState.ACTIVE,
    EventKind.TASK_PAUSED: TaskState.PAUSED,
    EventKind.TASK_RESUMED: TaskState.ACTIVE,
    EventKind.TASK_COMPLETED: TaskState.COMPLETED,
    EventKind.TASK_FAILED: TaskState.FAILED,
    EventKind.TASK_CANCELLED: TaskState.CANCELLED,
}


class StateChange(NamedTuple):
    """From this event on the task was in this state."""

    number: int
    event: Event
    state: TaskState


class TaskHistory:
    """Everything about one task that was committed, by the numbers of events: those are the order of all commits."""

    def __init__(self, task_id: str, actions: Iterable[Action], events: Iterable[NumberedEvent]) -> None:
        self.task_id = task_id
        self.actions = tuple(actions)
        self.events = tuple(events)
        self.definitions = tuple(_definitions(self.actions))
        self.marks = tuple(_state_changes(self.events, self))

    def definition_before(self, number: int) -> Task:
        """As it was when the event with that number was about to be written."""
        place = bisect_left(self.definitions, number, key=lambda each: each[0])
        return self.definitions[max(0, place - 1)][1]

    def policies_before(self, number: int) -> Policies:
        return self.definition_before(number).policies

    def state_before(self, number: int) -> TaskState | None:
        place = bisect_left(self.marks, number, key=lambda each: each.number)
        return None if place == 0 else self.marks[place - 1].state

    def gave_up_before(self, number: int) -> StateChange | None:
        """How it had given up at that point, if it had."""
        place = bisect_left(self.marks, number, key=lambda each: each.number)
        mark = self.marks[place - 1] if place else None
        return mark if mark is not None and mark.state is TaskState.FAILED else None

    def has_new_schedule(self, number: int) -> bool:
        """Whether the edit that wrote this event gave it another schedule."""
        for action in self.committed("edit"):
            before, after = action.place or (0, 0)
            if before < number <= after:
                return self.definition_before(before + 1).schedule != self.definition_before(after + 1).schedule
        return False

    @property
    def rescheduled(self) -> bool:
        first = self.definitions[0][1].schedule
        return any(task.schedule != first for _, task in self.definitions)

    @property
    def past(self) -> TaskPast | None:
        """The past that was requested with the task, not the one that was stored."""
        return next((action.detail.past for action in self.committed("add")), None)

    def committed(self, kind: str) -> Iterator[Action]:
        return (action for action in self.actions if action.kind == kind and action.place is not None)


def _definitions(actions: Iterable[Action]) -> Iterator[tuple[int, Task]]:
    for action in actions:
        if action.place is not None and action.change is not None and action.change.task is not None:
            yield action.place[1], action.change.task


def _state_changes(events: Iterable[NumberedEvent], story: TaskHistory) -> Iterator[StateChange]:
    state: TaskState | None = None
    for number, event in events:
        if event.kind is EventKind.TASK_EDITED and state is TaskState.COMPLETED and story.has_new_schedule(number):
            state = TaskState.ACTIVE
            yield StateChange(number, event, state)
        elif event.kind in _STATES:
            state = _STATES[event.kind]
            yield StateChange(number, event, state)


def task_histories(evidence: Evidence) -> dict[str, TaskHistory]:
    actions: dict[str, list[Action]] = defaultdict(list)
    events: dict[str, list[NumberedEvent]] = defaultdict(list)
    for action in evidence.history.actions:
        actions[action.subject].append(action)
    for numbered in evidence.events:
        events[numbered.event.task_id].append(numbered)
    return {task_id: TaskHistory(task_id, actions[task_id], events[task_id]) for task_id in events}
