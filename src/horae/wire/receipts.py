"""What is told of a task that was just made or changed: the task, its next fires, and what may surprise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Final

from ..choices import Language
from ..model.change import Facts
from ..model.task import past_of
from ..schedule import Cron, Past, Schedule, iterate
from ..schedule import next as next_fire
from ..schedule.preview import fires_in
from ..schedule.warnings import ScheduleWarning
from ..service.tasks.advisories import Advisory
from ..service.tasks.edits import Edited
from ..service.tasks.quotas import used_up_advisories
from .instants import local, utc
from .previews import fires_json, warnings_json
from .tasks import definition_json, task_json

FIRES: Final = 5
_NOT_SAID: Final = ("anchored",)
"""True of every interval: not worth repeating."""


def receipt_json(
    facts: Facts,
    now: datetime,
    warnings: Sequence[ScheduleWarning | Advisory] = (),
    language: Language = "en",
    *,
    dry_run: bool = False,
    declared: Sequence[str] = (),
) -> dict[str, Any]:
    more = receipt_more(facts, now, warnings, language, dry_run=dry_run, declared=declared)
    return task_json(facts, language) | more


def receipt_more(
    facts: Facts,
    now: datetime,
    warnings: Sequence[ScheduleWarning | Advisory],
    language: Language,
    *,
    dry_run: bool,
    declared: Sequence[str] = (),
) -> dict[str, Any]:
    """What a receipt says beside the task itself; `declared` are fields from the declaration of its function."""
    warnings = (*used_up_advisories(facts), *warnings)
    return {
        "next_runs": _next_runs(facts, now),
        "warnings": warnings_json([each for each in warnings if each.code not in _NOT_SAID], language),
        "declared": list(declared),
        "dry_run": dry_run,
    }


def _next_runs(facts: Facts, now: datetime) -> list[dict[str, Any]]:
    task, standing = facts.task, facts.standing
    schedule, past = task.schedule, past_of(task, standing)
    if isinstance(schedule, Cron) and schedule.repeat is None:
        first = next_fire(schedule, now, past)
        return [] if first is None else list(_from(schedule, first))
    return _told(schedule, iterate(schedule, now, past))


@lru_cache(maxsize=1_024)
def _from(schedule: Schedule, first: datetime) -> list[dict[str, Any]]:
    """What follows one fire of such a schedule is the same for all who have it, whatever their past."""
    return _told(schedule, chain((first,), iterate(schedule, first, Past(first))))


def _told(schedule: Schedule, fires: Iterable[datetime]) -> list[dict[str, Any]]:
    return fires_json(fires_in(schedule.zone or "UTC", islice(fires, FIRES)))


def edited_json(done: Edited) -> dict[str, Any]:
    """What an edit changed, field by field, and in the fires ahead."""
    before, after = done.before.schedule.zone, done.after.schedule.zone
    return {
        "changed": changed_fields(done),
        "removed": [{"at": utc(at), "at_local": local(at, before)} for at in done.fires.removed],
        "added": [{"at": utc(at), "at_local": local(at, after)} for at in done.fires.added],
    }


def changed_fields(done: Edited) -> dict[str, Any]:
    """By name: what it was, and what it is; of the policies, one by one."""
    before, after = _flat(definition_json(done.before)), _flat(definition_json(done.after))
    return {name: {"from": before[name], "to": after[name]} for name in after if before[name] != after[name]}


def _flat(definition: dict[str, Any]) -> dict[str, Any]:
    policies = definition.pop("policies")
    return definition | {f"policies.{name}": value for name, value in policies.items()}
