"""Check of occurrences by attempt: rising tokens, one key, bounded attempts, one outcome with a reason, never early."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from horae.model.policy import Policies
from horae.model.reason import Reason
from horae.model.run import Origin, Run, RunState
from tests.simulation.checks.planned_instants import due_of
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence, Occurrence
from tests.simulation.history import TargetCall

SETTLED_WITHIN: Final = timedelta(minutes=15)
"""What came due so long before the end has ended by then: nothing takes long any more."""
_TRIED_AGAIN: Final = frozenset({RunState.LOST, RunState.FAILED, RunState.TIMED_OUT})
_MOST_NODES_TAKEN_DOWN: Final = 2
_TOLERANCE: Final = timedelta(microseconds=10)
"""Extra occurrences of one instant are told apart by microseconds."""
_DECIDED_WHEN_DUE: Final = frozenset(
    {Reason.MISSED_SKIPPED, Reason.MERGED, Reason.STALE, Reason.SKIP_REQUESTED, Reason.OVERLAP}
)


def check_outcomes(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    deeds: dict[Occurrence, list[TargetCall]] = defaultdict(list)
    for deed in evidence.history.deeds:
        deeds[Occurrence(deed.task_id, deed.origin, deed.planned)].append(deed)
    for occurrence, rows in evidence.occurrences.items():
        story = stories[occurrence.task_id]
        yield from _attempts(rows, [task.policies for _, task in story.definitions])
        yield from _ending(evidence, rows)
        yield from _times(story, rows)
        yield from _effects(deeds[occurrence], rows, story)
    yield from _keys(evidence.history.deeds)
    yield from _claims(evidence)


def _attempts(rows: Sequence[Run], policies: Sequence[Policies]) -> Iterator[Violation]:
    if [run.attempt for run in rows] != list(range(1, len(rows) + 1)):
        yield Violation("3", f"{rows[0].id}: the attempts are {[run.attempt for run in rows]}")
    tokens = [run.token for run in rows if run.token]
    if tokens != sorted(set(tokens)):
        yield Violation("5", f"{rows[0].id}: the tokens of its attempts do not rise: {tokens}")
    carried = [run for run in rows if run.state is not RunState.SKIPPED or run.token]
    tries = len(carried) - sum(run.state is RunState.LOST for run in carried[:-1])
    most = [_most_tries(each) for each in policies]
    if None not in most and tries > max(each for each in most if each is not None):
        yield Violation("retry", f"{rows[-1].id}: {tries} tries, but at most {most} are allowed")


def _most_tries(policies: Policies) -> int | None:
    return 1 if policies.guarantee == "at_most_once" else policies.retry.attempts


def _ending(evidence: Evidence, rows: Sequence[Run]) -> Iterator[Violation]:
    for run in rows[:-1]:
        if run.state not in _TRIED_AGAIN:
            yield Violation("3", f"{run.id} is {run.state}, but there is another attempt after it")
    last = rows[-1]
    if last.live and last.due < evidence.now - SETTLED_WITHIN:
        yield Violation("3", f"{last.id} was due at {last.due} and is still {last.state} at {evidence.now}")
    for run in rows:
        if not run.live and (run.reason is None) != (run.state is RunState.SUCCEEDED):
            yield Violation("3", f"{run.id} is {run.state} with reason {run.reason}")


def _times(story: TaskHistory, rows: Sequence[Run]) -> Iterator[Violation]:
    first = rows[0]
    of_schedule = first.origin is Origin.SCHEDULED and first.token > 0
    if of_schedule and first.due not in {due_of(task, first.planned) for _, task in story.definitions}:
        yield Violation("4", f"{first.id} planned for {first.planned} says that it was due at {first.due}")
    for run in rows:
        if run.claimed is not None and run.claimed < run.due:
            yield Violation("4", f"{run.id} was claimed at {run.claimed}, before it was due at {run.due}")
        if run.reason in _DECIDED_WHEN_DUE and run.ended is not None and run.ended + _TOLERANCE < run.planned:
            yield Violation("4", f"{run.id} was skipped at {run.ended}, before its instant {run.planned}")


def _effects(deeds: Sequence[TargetCall], rows: Sequence[Run], story: TaskHistory) -> Iterator[Violation]:
    if all(task.policies.guarantee == "at_most_once" for _, task in story.definitions) and len(deeds) > 1:
        yield Violation("at_most_once", f"{rows[0].id}: the target was called {len(deeds)} times")
    for deed in deeds:
        earlier = sum(each.died for each in deeds if each.attempt < deed.attempt)
        if earlier >= _MOST_NODES_TAKEN_DOWN and not deed.alone:
            yield Violation("poison", f"{deed.run_id} had taken {earlier} processes down, and is not alone")


def _keys(deeds: Sequence[TargetCall]) -> Iterator[Violation]:
    keys: dict[Occurrence, set[str]] = defaultdict(set)
    owners: dict[str, set[Occurrence]] = defaultdict(set)
    for deed in deeds:
        occurrence = Occurrence(deed.task_id, deed.origin, deed.planned)
        keys[occurrence].add(deed.key)
        owners[deed.key].add(occurrence)
    for occurrence, found in keys.items():
        if len(found) > 1:
            yield Violation("key", f"{occurrence} has {len(found)} idempotency keys")
    for key, found_at in owners.items():
        if len(found_at) > 1:
            yield Violation("key", f"{key} belongs to {len(found_at)} occurrences")


def _claims(evidence: Evidence) -> Iterator[Violation]:
    highest = 0
    at = {}
    for run, _, steady, now in evidence.history.claims:
        if run.token < highest:
            yield Violation("5", f"{run.id} was claimed with token {run.token}, after {highest}")
        highest = max(highest, run.token)
        at[run.id] = steady
        if now < run.due:
            yield Violation("4", f"{run.id} was claimed at {now}, before it was due at {run.due}")
    for deed in evidence.history.deeds:
        if deed.started < at.get(deed.run_id, float("inf")):
            yield Violation("4", f"{deed.run_id}: the target was called before the claim was committed")
    for kind, run_id, token, stale, probe in evidence.history.writings:
        if probe and not stale:
            yield Violation("5", f"a {kind} of {run_id} with the stale token {token} was accepted")
