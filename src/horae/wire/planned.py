"""Planned runs and their numbers per hour to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..lifecycle.planned import PlannedOccurrence
from ..model.run import Origin
from ..model.task import partial_task
from ..service.runs.planned import PlannedCounts, PlannedList, PlannedRun
from .instants import local, parse_instant, utc


def planned_json(runs: PlannedList, hours: PlannedCounts) -> dict[str, Any]:
    return {
        "items": [planned_run_json(run) for run in runs.items],
        "hours": [{"at": utc(hour.since), "number": hour.number} for hour in hours.periods],
        "has_more": runs.is_partial,
        "partial": hours.is_partial,
    }


def planned_run_json(run: PlannedRun) -> dict[str, Any]:
    task, occurrence = run
    return {
        "task_id": task.id,
        "task": task.name,
        "owner": task.owner,
        "due": utc(occurrence.due),
        "due_local": local(occurrence.due, task.schedule.zone),
        "zone": task.schedule.zone,
        "planned": utc(occurrence.planned),
        "origin": occurrence.origin.value,
        "attempt": occurrence.attempt,
        "estimate": occurrence.is_estimate,
    }


def read_planned_list(data: Mapping[str, Any]) -> PlannedList:
    return PlannedList(tuple(_read_planned_run(each) for each in data["items"]), data["has_more"])


def _read_planned_run(data: Mapping[str, Any]) -> PlannedRun:
    task = partial_task(data["task_id"], data["task"], data["zone"])._replace(owner=data["owner"])
    occurrence = PlannedOccurrence(
        parse_instant(data["due"]),
        parse_instant(data["planned"]),
        Origin(data["origin"]),
        data["attempt"],
        data["estimate"],
    )
    return PlannedRun(task, occurrence)
