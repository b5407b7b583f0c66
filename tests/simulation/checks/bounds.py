"""Guarantees 9 and 10: no access to resources of other owners, and no resource beyond its limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from horae.model.limits import ERROR_CHARACTERS, RESULT_BYTES, SUMMARY_CHARACTERS
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence


def check_bounds(evidence: Evidence, _: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    yield from _strangers(evidence)
    yield from _sizes(evidence)
    for node, room, count in evidence.history.overfull:
        yield Violation("10", f"{node} had room for {room} more runs, and was given {count}")


def _strangers(evidence: Evidence) -> Iterator[Violation]:
    for who, verb, task_id, foreign, nobodys in evidence.history.foreign_calls:
        if not foreign:
            yield Violation("9", f"{who} was allowed to {verb} {task_id}, which belongs to another owner")
        elif foreign != nobodys:
            yield Violation("9", f"{who} can tell {task_id} from one that does not exist: {foreign!r}")
    for who, owners in evidence.history.seen_by.items():
        for owner in sorted(owners - {who}):
            yield Violation("9", f"{who} has seen what belongs to {owner}")


def _sizes(evidence: Evidence) -> Iterator[Violation]:
    for run in evidence.runs.values():
        if run.error is not None and len(run.error) > ERROR_CHARACTERS:
            yield Violation("10", f"{run.id} keeps an error of {len(run.error)} characters")
        if run.result_json is not None and len(run.result_json.encode()) > RESULT_BYTES:
            yield Violation("10", f"{run.id} keeps a result of {len(run.result_json)} characters")
    for task_id, facts in evidence.facts.items():
        summary = facts.status.last_result
        if summary is not None and len(summary) > SUMMARY_CHARACTERS:
            yield Violation("10", f"{task_id} keeps a summary of {len(summary)} characters")
