"""Check of `start_within`: nothing starts too late, nothing is skipped too early, and what waits is found in time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from horae.model.entry import CONTROL_KINDS, EntryState
from horae.model.events.event import EventKind
from horae.model.reason import Reason
from horae.model.run import Origin
from tests.simulation.checks.planned_instants import due_of
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence

_WAITING = (EntryState.HELD, EntryState.PARKED)


def check_start_deadlines(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    for number, event in evidence.events:
        run = None if event.run_id is None else evidence.runs.get(event.run_id)
        if run is None or run.origin is Origin.BACKFILL:
            continue
        task = stories[run.task_id].definition_before(number)
        within = task.policies.start_within
        if event.kind is EventKind.RUN_STARTED and within is not None and event.at >= run.due + within:
            yield Violation("start", f"event {number}: {run.id} starts {event.at - run.due} after it was due")
        if event.kind is EventKind.RUN_SKIPPED and run.reason is Reason.START_DEADLINE:
            due = run.due if run.attempt > 1 or run.origin is Origin.MANUAL else due_of(task, run.planned)
            if within is None or event.at < due + within:
                yield Violation("start", f"event {number}: {run.id} is skipped although it may still start")
    yield from _found_in_time(evidence)


def _found_in_time(evidence: Evidence) -> Iterator[Violation]:
    late = evidence.recovered_at - 2 * evidence.terms.poll_ceiling
    for facts in evidence.recovered:
        within = facts.task.policies.start_within
        for entry in facts.entries:
            waits = entry.state in _WAITING and entry.kind not in CONTROL_KINDS
            if within is not None and waits and entry.origin is not Origin.BACKFILL and entry.due + within < late:
                yield Violation("start", f"{entry.slot} of {entry.task_id} waits since {entry.due}, too late to start")
