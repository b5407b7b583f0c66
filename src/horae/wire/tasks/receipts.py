"""Receipts to JSON: a task that was just created or changed, its next fires and its warnings; for an edit also the
changed fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Final

from ...choices import Language
from ...model.change import Facts
from ...model.task import past_of
from ...schedule import Cron, Past, Schedule, iterate
from ...schedule import next as next_fire
from ...schedule.preview import make_fires
from ...schedule.warnings import ScheduleWarning
from ...service.tasks.advisories import Advisory
from ...service.tasks.edits import EditResult
from ...service.tasks.quotas import used_up_advisories
from ..instants import local, utc
from .previews import fires_json, warnings_json
from .task import definition_json, task_json

SHOWN_FIRES: Final = 5
_HIDDEN_WARNINGS: Final = ("anchored",)
"""True of every interval, so not worth repeating."""


def receipt_json(
    facts: Facts,
    now: datetime,
    warnings: Sequence[ScheduleWarning | Advisory] = (),
    language: Language = "en",
    *,
    dry_run: bool = False,
    declared: Sequence[str] = (),
) -> dict[str, Any]:
    more = receipt_additions(facts, now, warnings, language, dry_run=dry_run, declared=declared)
    return task_json(facts, language) | more


def receipt_additions(
    facts: Facts,
    now: datetime,
    warnings: Sequence[ScheduleWarning | Advisory],
    language: Language,
    *,
    dry_run: bool,
    declared: Sequence[str] = (),
) -> dict[str, Any]:
    """Encode what a receipt adds to the task; `declared` are fields from the declaration of its function."""
    warnings = (*used_up_advisories(facts), *warnings)
    return {
        "next_runs": _next_runs(facts, now),
        "warnings": warnings_json([each for each in warnings if each.code not in _HIDDEN_WARNINGS], language),
        "declared": list(declared),
        "dry_run": dry_run,
    }


def _next_runs(facts: Facts, now: datetime) -> list[dict[str, Any]]:
    task, status = facts.task, facts.status
    schedule, past = task.schedule, past_of(task, status)
    if isinstance(schedule, Cron) and schedule.repeat is None:
        first = next_fire(schedule, now, past)
        return [] if first is None else list(_fires_from(schedule, first))
    return _encode_fires(schedule, iterate(schedule, now, past))


@lru_cache(maxsize=1_024)
def _fires_from(schedule: Schedule, first: datetime) -> list[dict[str, Any]]:
    """Encode the fires from `first` on. They depend on the schedule alone, not on the task's past, so they are cached."""
    return _encode_fires(schedule, chain((first,), iterate(schedule, first, Past(first))))


def _encode_fires(schedule: Schedule, fires: Iterable[datetime]) -> list[dict[str, Any]]:
    return fires_json(make_fires(schedule.zone or "UTC", islice(fires, SHOWN_FIRES)))


def edited_json(edited: EditResult) -> dict[str, Any]:
    """Encode what an edit changed: fields, and removed and added fires."""
    before, after = edited.before.schedule.zone, edited.after.schedule.zone
    return {
        "changed": changed_fields(edited),
        "removed": [{"at": utc(at), "at_local": local(at, before)} for at in edited.fires.removed],
        "added": [{"at": utc(at), "at_local": local(at, after)} for at in edited.fires.added],
    }


def changed_fields(edited: EditResult) -> dict[str, Any]:
    """Return old and new value by field name; policies one by one."""
    before, after = _flatten_policies(definition_json(edited.before)), _flatten_policies(definition_json(edited.after))
    return {name: {"from": before[name], "to": after[name]} for name in after if before[name] != after[name]}


def _flatten_policies(definition: dict[str, Any]) -> dict[str, Any]:
    policies = definition.pop("policies")
    return definition | {f"policies.{name}": value for name, value in policies.items()}
