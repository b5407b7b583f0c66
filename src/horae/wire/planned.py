"""Planned runs and their numbers per hour to JSON."""

from __future__ import annotations

from typing import Any

from ..service.runs.planned import PlannedCounts, PlannedList, PlannedRun
from .instants import local, utc


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
