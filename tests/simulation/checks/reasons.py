"""Check of reasons: each follows from the policies of the task and the client actions at that point."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from horae.model.entry import EntryKind
from horae.model.events.event import Event, EventKind
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.model.task import Task, TaskState
from tests.simulation.checks.lanes import LaneLimits
from tests.simulation.checks.planned_instants import due_of
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.timeline import ENDS
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence


class Case(NamedTuple):
    """A row with a reason, and all that could justify it."""

    evidence: Evidence
    story: TaskHistory
    limits: LaneLimits
    run: Run
    number: int
    event: Event
    going: frozenset[str]

    @property
    def task(self) -> Task:
        return self.story.definition_before(self.number)

    @property
    def state(self) -> TaskState | None:
        return self.story.state_before(self.number)


def check_reasons(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    limits = LaneLimits(evidence.history.actions)
    going: dict[str, set[str]] = defaultdict(set)
    for number, event in evidence.events:
        run = None if event.run_id is None else evidence.runs.get(event.run_id)
        if run is None:
            continue
        live = going[run.task_id]
        if event.kind is EventKind.RUN_STARTED:
            live.add(run.id)
        elif event.kind in ENDS:
            case = Case(evidence, stories[run.task_id], limits, run, number, event, frozenset(live))
            live.discard(run.id)
            if run.reason is not None and not _JUSTIFIED[run.reason](case):
                yield Violation("reason", f"event {number}: {run.id} is {run.state} as {run.reason}, which cannot be")


def _overlap(case: Case) -> bool:
    return case.task.policies.overlap in ("skip", "queue") and (bool(case.going) or _retry_counts(case))


def _retry_counts(case: Case) -> bool:
    """Whether a retry of the task, which counts as running by its policy, waited at this point or came later."""
    if case.task.policies.retry.superseded_by_next:
        return False
    entries = case.evidence.facts[case.task.id].entries
    return any(entry.kind is EntryKind.RETRY for entry in entries) or any(
        event.run_id is not None and number >= case.number and case.evidence.runs[event.run_id].attempt > 1
        for number, event in case.story.events
        if event.run_id in case.evidence.runs
    )


def _superseded(case: Case) -> bool:
    policies = case.task.policies
    is_ended = policies.retry.superseded_by_next or case.run.attempt == 1
    return is_ended and policies.overlap not in ("queue_all", "parallel") and not case.run.in_order


def _replaced(case: Case) -> bool:
    return case.task.policies.overlap == "replace" or any(
        task.policies.overlap == "replace" for _, task in case.story.definitions
    )


def _stale(case: Case) -> bool:
    within = case.task.policies.missed.within
    first = case.run.planned
    return within is not None and case.event.at - due_of(case.task, first) >= within


def _missed(case: Case) -> bool:
    """Nothing is missed that was met in time: it was late, or more than one had piled up, or the schedule changed."""
    if _by(case, "edit") or _by(case, "resume"):
        return True
    policy = case.task.policies.missed
    return policy.mode in ("skip", "all") and _late(case)


def _merged(case: Case) -> bool:
    return _late(case) and (case.task.policies.missed.mode == "latest" or _by(case, "resume"))


def _late(case: Case) -> bool:
    late = case.event.at - due_of(case.task, case.run.planned) > case.evidence.terms.poll_ceiling
    return late or case.run.span is not None or _others_piled_up(case)


def _others_piled_up(case: Case) -> bool:
    """Another occurrence of the same task was recorded or started in the same commit."""
    return any(
        event.run_id != case.run.id
        for number, event in case.story.events
        if abs(number - case.number) <= 3 and event.run_id is not None and event.at == case.event.at
    )


def _paused(case: Case) -> bool:
    return case.state is TaskState.PAUSED


def _by(case: Case, kind: str) -> bool:
    """Whether this row was written by a client action of that kind."""
    return any(
        before < case.number <= after
        for action in case.story.committed(kind)
        for before, after in [action.place or (0, 0)]
    )


def _skip_requested(case: Case) -> bool:
    wishes = [
        action.detail for action in case.story.committed("skip_next") if action.place and action.place[1] < case.number
    ]
    return any(wanted > 0 for wanted in wishes)


def _revoked(case: Case) -> bool:
    return case.limits.block_reason(case.run.owner, case.number)


def _cancelled(case: Case) -> bool:
    asked = any(action.detail == case.run.id for action in case.story.committed("cancel_run"))
    return asked or any(True for _ in case.story.committed("cancel")) or _gave_up_here(case) or _by(case, "edit")


def _gave_up_here(case: Case) -> bool:
    """What was still waiting goes with its task, in the same commit."""
    failed = (number for number, event in case.story.events if event.kind is EventKind.TASK_FAILED)
    return case.run.state is RunState.SKIPPED and any(0 < number - case.number <= 20 for number in failed)


def _ended_as(*states: RunState) -> Callable[[Case], bool]:
    return lambda case: case.run.state in states


def _quarantined(case: Case) -> bool:
    return case.run.deaths >= 2 or _gave_up_here(case)


def _never(_: Case) -> bool:
    return False


_JUSTIFIED: Final[dict[Reason, Callable[[Case], bool]]] = {
    Reason.OVERLAP: _overlap,
    Reason.SUPERSEDED: _superseded,
    Reason.REPLACED: _replaced,
    Reason.STALE: _stale,
    Reason.MISSED_SKIPPED: _missed,
    Reason.MERGED: _merged,
    Reason.PAUSED: _paused,
    Reason.SKIP_REQUESTED: _skip_requested,
    Reason.OWNER_REVOKED: _revoked,
    Reason.CANCELLED: _cancelled,
    Reason.TARGET_FAILED: _ended_as(RunState.FAILED),
    Reason.DEADLINE: _ended_as(RunState.TIMED_OUT),
    Reason.START_DEADLINE: _ended_as(RunState.SKIPPED),
    Reason.LEASE_LOST: _ended_as(RunState.LOST),
    Reason.RELEASED: _ended_as(RunState.LOST),
    Reason.SKIPPED_BY_TARGET: _ended_as(RunState.SKIPPED),
    Reason.QUARANTINED: _quarantined,
    Reason.EXCLUDED: _never,
    Reason.GATE_CLOSED: _never,
    Reason.GATE_FAILED: _never,
    Reason.GATE_CHECKED: _never,
    Reason.QUOTA: _never,
    Reason.AGENT_QUOTA: _never,
    Reason.TARGET_UNKNOWN: _never,
    Reason.TARGET_NOT_ALLOWED: _never,
    Reason.NOT_CALLED: _never,
    Reason.NO_ANSWER: _never,
    Reason.NO_WORKER: _never,
    Reason.WORKER_LOST: _never,
    Reason.AWAITING_APPROVAL: _never,
}
