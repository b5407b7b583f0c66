"""Check of order: sequential occurrences start oldest first, each after the end of the one before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from horae.model.events.event import EventKind
from horae.model.lanes.lane import owner_lane
from horae.model.run import Origin, Run
from horae.model.task import Task
from tests.simulation.checks.planned_instants import counts_from_end
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.drafts import LANES
from tests.simulation.evidence import Evidence


def check_order(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, event in evidence.events:
        if event.run_id is not None and event.kind is not EventKind.RUN_RETRYING:
            first.setdefault(event.run_id, number)
            last[event.run_id] = number
    begun: dict[tuple[str, Origin], list[list[Run]]] = defaultdict(list)
    for (task_id, origin, _), rows in evidence.occurrences.items():
        if rows[0].token and origin is not Origin.MANUAL:
            begun[task_id, origin].append(rows)
    for (task_id, origin), occurrences in begun.items():
        if not stories[task_id].rescheduled:
            yield from _older_first(occurrences, first, origin, stories[task_id])
            yield from _one_by_one(occurrences, first, last)


def _older_first(
    occurrences: Sequence[Sequence[Run]], first: Mapping[str, int], origin: Origin, story: TaskHistory
) -> Iterator[Violation]:
    if any(_may_change_places(task) for _, task in story.definitions):
        return
    if origin is Origin.BACKFILL and len(list(story.committed("backfill"))) > 1:
        return
    for older, newer in pairwise(occurrences):
        if first.get(older[0].id, 0) > first.get(newer[0].id, 0):
            yield Violation("order", f"{newer[0].id} started before {older[0].id}, which is older")


def _may_change_places(task: Task) -> bool:
    """In parallel; in two lanes, of which one is free before the other; and where the wall clock can lead back."""
    seated = task.lane is not None or owner_lane(task.owner) in LANES
    return task.policies.overlap == "parallel" or seated or counts_from_end(task)


def _one_by_one(
    occurrences: Sequence[Sequence[Run]], first: Mapping[str, int], last: Mapping[str, int]
) -> Iterator[Violation]:
    """`all` and backfills: an occurrence ends, retries included, before the next one starts."""
    queued = [rows for rows in occurrences if rows[0].in_order]
    for older, newer in pairwise(queued):
        if last.get(older[-1].id, 0) > first.get(newer[0].id, 0) > first.get(older[0].id, 0):
            yield Violation("order", f"{newer[0].id} started before {older[-1].id} had ended for good")
