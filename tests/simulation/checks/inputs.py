"""Check of inputs: every attempt at a requested occurrence has the input of the request, and its target got that payload.

Placeholders in it are filled with the values of that attempt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from horae.model.entry import Entry
from horae.model.inputs.run_input import RunInput
from horae.model.run import Origin, Run, Span
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence
from tests.simulation.history import TargetCall

_REQUESTS = {"run_now": Origin.MANUAL, "backfill": Origin.BACKFILL}


def check_inputs(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    requests = _requests(evidence)
    for run in evidence.runs.values():
        wanted = {None} if run.origin is Origin.SCHEDULED else _wanted(requests, run)
        if run.input not in wanted:
            yield Violation("input", f"{run.id} has the input {run.input}, but one of {wanted} was asked for")
    for deed in evidence.history.deeds:
        row = evidence.runs.get(deed.run_id)
        if row is None:
            continue
        payload = stories[deed.task_id].definitions[-1][1].payload if row.input is None else row.input.value
        if "{" in payload:
            yield from _check_filled(deed, row, payload)
        elif deed.payload != payload:
            yield Violation("input", f"{deed.run_id} was called with {deed.payload!r}, not {payload!r}")


def _check_filled(deed: TargetCall, run: Run, payload: str) -> Iterator[Violation]:
    """The values, written down here by hand: those of this attempt, and of the stretch that its run stands for."""
    span = run.span or Span(run.planned, run.planned, 1)
    values = {
        "planned": run.planned.isoformat(),
        "first": span.first.isoformat(),
        "last": span.last.isoformat(),
        "count": str(span.count),
        "attempt": str(run.attempt),
        "key": deed.key,
    }
    wanted = payload.strip()
    for name, value in values.items():
        wanted = wanted.replace(f"{{horae.{name}}}", value)
    if deed.payload != wanted:
        yield Violation("placeholder", f"{deed.run_id} was called with {deed.payload!r}, not {wanted!r}")


def _requests(evidence: Evidence) -> Mapping[str, list[Entry]]:
    """Entries of requested runs, by task."""
    found: dict[str, list[Entry]] = defaultdict(list)
    for action in evidence.history.actions:
        if action.kind in _REQUESTS and action.place is not None and action.change is not None:
            found[action.subject] += [each for each in action.change.put if each.origin is _REQUESTS[action.kind]]
    return found


def _wanted(requests: Mapping[str, list[Entry]], run: Run) -> set[RunInput | None]:
    """Inputs of the requests that cover the occurrence: a second backfill may make what the first one did not."""
    return {
        entry.input
        for entry in requests[run.task_id]
        if entry.origin is run.origin and entry.planned <= run.planned <= (entry.through or entry.planned)
    }
