"""Dry run of the task in a form: what would be stored and sent, with secrets masked, and warnings; nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...model.accounts.secret_reference import secret_name
from ...model.change import Facts
from ...model.record import RecordWrite
from ...model.refusals import refuse
from ...model.task import Task
from ...schedule.warnings import ScheduleWarning
from ...service.tasks.advisories import Advisory
from ...service.tasks.edits import Edits
from ...service.tasks.parsed_task import ParsedTask
from ...wire.tasks.receipts import changed_fields
from ...wire.tasks.review import json_line, review_of
from ...wire.tasks.targets import target_json
from ..page import PageRequest

MASK: Final = "•••"


@dataclass(frozen=True, slots=True)
class FieldChange:
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """`lines` are path and value of every stored field; `changes` is None for a new task."""

    lines: tuple[tuple[str, str], ...]
    sent: str
    warnings: tuple[str, ...]
    declared: tuple[str, ...]
    changes: tuple[FieldChange, ...] | None = None


def only_new(key: str | None) -> Callable[[Facts | None], None]:
    """Return a condition that refuses a key which a task has already: this form creates, and never edits by key."""

    def check(existing: Facts | None) -> None:
        if existing is not None:
            raise refuse("key_taken", key=key)

    return check


async def check_new(request: PageRequest, parsed: ParsedTask) -> CheckResult:
    """Create the task in a service that writes nothing; it refuses what the real one would refuse."""
    seen: list[Facts] = []

    def capture(created: Sequence[Facts]) -> Sequence[RecordWrite]:
        seen[:] = created
        return ()

    tasks = request.service.dry_run.tasks.with_condition(only_new(parsed.request.key))
    task = await tasks.create(request.viewer.principal, parsed.request, attach_records=capture)
    return _result(request, seen[0].task if seen else task, parsed.warnings, parsed.declared)


async def check_edit(request: PageRequest, task: Task, edits: Edits, parsed: ParsedTask) -> CheckResult:
    """Edit the task in a dry run, against the version that is stored now."""
    principal = request.viewer.principal
    edited = await request.service.tasks.edit(principal, task.id, edits, dry_run=True)
    warnings = (*await request.service.review(principal, edited, edits), *parsed.warnings)
    distinct = tuple({each.code: each for each in warnings}.values())
    changes = tuple(
        FieldChange(name, json_line(change["from"]), json_line(change["to"]))
        for name, change in changed_fields(edited).items()
    )
    result = _result(request, edited.after, distinct, parsed.declared)
    return CheckResult(result.lines, result.sent, result.warnings, result.declared, changes)


def _result(
    request: PageRequest, task: Task, warnings: Sequence[ScheduleWarning | Advisory], declared: tuple[str, ...]
) -> CheckResult:
    language = request.viewer.language
    review = review_of(task, language)
    lines = tuple((path, value) for path, value in review.fields if path != "id")
    sent = {"target": target_json(task.target), "payload": json.loads(task.payload)}
    text = json.dumps(mask_secrets(sent), ensure_ascii=False, indent=2)
    texts = tuple(each.in_language(language) for each in warnings if each.code != "anchored")
    return CheckResult(lines, text, (*review.warnings, *texts), declared)


def mask_secrets(value: Any) -> Any:
    """Return the JSON with a mask in the place of every reference to a secret."""
    if secret_name(value) is not None:
        return MASK
    if isinstance(value, dict):
        return {key: mask_secrets(each) for key, each in value.items()}
    return [mask_secrets(each) for each in value] if isinstance(value, list) else value
