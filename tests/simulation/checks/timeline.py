"""Guarantees 1, 6, 7 and 11, checked along the event log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from horae.model.events.event import Event, EventKind
from horae.model.lanes.lane import owner_lane
from horae.model.run import Origin, Run, RunState
from horae.model.task import TaskState
from tests.simulation.checks.lanes import LaneLimits
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence, Occurrence

ENDS = {
    EventKind.RUN_SUCCEEDED: RunState.SUCCEEDED,
    EventKind.RUN_FAILED: RunState.FAILED,
    EventKind.RUN_TIMED_OUT: RunState.TIMED_OUT,
    EventKind.RUN_LOST: RunState.LOST,
    EventKind.RUN_CANCELLED: RunState.CANCELLED,
    EventKind.RUN_SKIPPED: RunState.SKIPPED,
}

_NOT_CANCELLED = frozenset(TaskState) - {TaskState.CANCELLED}
_MAY_START = {
    Origin.SCHEDULED: frozenset({TaskState.ACTIVE}),
    Origin.BACKFILL: _NOT_CANCELLED - {TaskState.PAUSED},
    Origin.MANUAL: _NOT_CANCELLED,
}


def check_timeline(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    yield from _no_gaps(evidence)
    sweep = _Sweep(evidence, stories)
    for number, event in evidence.events:
        if event.run_id is not None:
            yield from sweep.see(number, event, event.run_id)
    yield from sweep.rows_and_events_agree()


def _no_gaps(evidence: Evidence) -> Iterator[Violation]:
    numbers = [numbered.number for numbered in evidence.events]
    if numbers != list(range(1, len(numbers) + 1)):
        yield Violation("11", "the event log has gaps, or numbers that do not rise")
    read = evidence.history.feed
    if read != list(evidence.events[: len(read)]):
        yield Violation("11", "a reader that resumed from its last number has not seen every event")


class _Sweep:
    """Which runs are going, at each point of the log."""

    def __init__(self, evidence: Evidence, stories: Mapping[str, TaskHistory]) -> None:
        self._evidence = evidence
        self._stories = stories
        self._limits = LaneLimits(evidence.history.actions)
        self._live: dict[str, Run] = {}
        self._of_task: dict[str, set[str]] = defaultdict(set)
        self._seated: dict[str, set[str]] = defaultdict(set)
        self._seats: dict[str, tuple[str, ...]] = {}
        self._ended: dict[str, RunState] = {}

    def see(self, number: int, event: Event, run_id: str) -> Iterator[Violation]:
        run = self._evidence.runs.get(run_id)
        if run is None:
            yield Violation("11", f"event {number} tells of {run_id}, which has no row")
        elif event.kind is EventKind.RUN_STARTED:
            yield from self._start(number, run)
        elif event.kind in ENDS:
            yield from self._end(number, run, ENDS[event.kind])
        elif event.kind is EventKind.RUN_WAITING and run_id not in self._live:
            yield Violation("7", f"event {number}: {run_id} waits, but does not go on")

    def _start(self, number: int, run: Run) -> Iterator[Violation]:
        if run.id in self._live or run.id in self._ended:
            yield Violation("7", f"event {number}: {run.id} starts a second time")
        yield from self._alone(number, run)
        yield from self._seat(number, run)
        yield from self._allowed(number, run)
        self._live[run.id] = run
        self._of_task[run.task_id].add(run.id)

    def _alone(self, number: int, run: Run) -> Iterator[Violation]:
        others = [self._live[other] for other in sorted(self._of_task[run.task_id])]
        if any(occurrence_of(other) == occurrence_of(run) for other in others):
            yield Violation("1", f"event {number}: {run.id} starts while another run of its occurrence goes on")
        overlap = self._stories[run.task_id].policies_before(number).overlap
        if others and overlap != "parallel":
            yield Violation("6", f"event {number}: {run.id} starts beside {others[0].id}, but overlap is {overlap}")

    def _seat(self, number: int, run: Run) -> Iterator[Violation]:
        task = self._stories[run.task_id].definition_before(number)
        lanes = [] if task.lane is None else [task.lane]
        if self._limits.known(owner_lane(task.owner), number):
            lanes.append(owner_lane(task.owner))
        for lane in lanes:
            limit = self._limits.at(lane, number)
            if len(self._seated[lane]) >= limit:
                yield Violation("6", f"event {number}: {run.id} starts in lane {lane}, whose {limit} seats are taken")
            self._seated[lane].add(run.id)
        self._seats[run.id] = tuple(lanes)

    def _allowed(self, number: int, run: Run) -> Iterator[Violation]:
        state = self._stories[run.task_id].state_before(number)
        if state not in _MAY_START[run.origin]:
            yield Violation("paused", f"event {number}: {run.id} ({run.origin}) starts although its task is {state}")
        if self._limits.block_reason(run.owner, number):
            yield Violation("paused", f"event {number}: {run.id} starts although {run.owner} may run nothing")

    def _end(self, number: int, run: Run, state: RunState) -> Iterator[Violation]:
        if run.id in self._ended:
            yield Violation("7", f"event {number}: {run.id} ends as {state}, but was {self._ended[run.id]} already")
        elif run.id not in self._live and state is not RunState.SKIPPED:
            yield Violation("11", f"event {number}: {run.id} ends, but no event told of its start")
        self._ended[run.id] = state
        self._live.pop(run.id, None)
        self._of_task[run.task_id].discard(run.id)
        for lane in self._seats.pop(run.id, ()):
            self._seated[lane].discard(run.id)

    def rows_and_events_agree(self) -> Iterator[Violation]:
        for run in self._evidence.runs.values():
            if run.live and run.id not in self._live:
                yield Violation("11", f"{run.id} is {run.state}, but the events say something else")
            elif not run.live and self._ended.get(run.id) != run.state:
                yield Violation("7", f"{run.id} is {run.state}, but the events say {self._ended.get(run.id)}")
        for run_id, run in self._evidence.history.ended_rows.items():
            if self._evidence.runs.get(run_id) != run:
                yield Violation("7", f"{run_id} had ended as {run.state}, and was changed or lost afterwards")


def occurrence_of(run: Run) -> Occurrence:
    return Occurrence(run.task_id, run.origin, run.planned)
