"""What is told of a task that was just made or changed: the task, its next fires, and what may surprise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final

from ..choices import Language
from ..model.change import Facts
from ..model.task import past_of
from ..schedule import iterate
from ..schedule.preview import fires_in
from ..schedule.warnings import ScheduleWarning
from ..service.edits import Edited
from .moments import local, utc
from .previews import fires_json, warnings_json
from .tasks import definition_json, task_json

FIRES: Final = 5
_NOT_SAID: Final = ("anchored",)
"""True of every interval: not worth repeating."""


def receipt_json(
    facts: Facts,
    now: datetime,
    warnings: Sequence[ScheduleWarning] = (),
    language: Language = "en",
    *,
    dry_run: bool = False,
) -> dict[str, Any]:
    task, standing = facts.task, facts.standing
    ahead = islice(iterate(task.schedule, now, past_of(task, standing)), FIRES)
    return {
        **task_json(facts, language),
        "next_runs": fires_json(fires_in(task.schedule.zone or "UTC", ahead)),
        "warnings": warnings_json([each for each in warnings if each.code not in _NOT_SAID], language),
        "dry_run": dry_run,
    }


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
