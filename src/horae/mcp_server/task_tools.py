"""MCP tools that create and change tasks, and preview a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..errors import Refusal
from ..message import Message
from ..model.change import Facts
from ..model.record import RecordWrite
from ..model.refusals import refuse as refuse_task
from ..model.task import Task, TaskState
from ..schedule import After, Schedule, to_json
from ..schedule.compat import Note
from ..schedule.describe import describe_schedule
from ..schedule.text import parse_text
from ..schedule.text.request import parse_when
from ..service.tasks.edits import EditResult
from ..service.tasks.functions.functions import ResolvedRequest, function_of
from ..service.tasks.task_request import NEVER, TaskRequest, read_when
from ..wire.instants import local, utc
from ..wire.tasks.targets import target_from_shorthand
from ..wire.tasks.task import definition_json, read_edits, read_task, task_json
from .arguments import default_name, edited_when_of, gate_of, id_of, require, when_of, work_of, zone_of
from .call import Arguments, Call, ToolResult
from .elicitation import choices_of
from .lines import join_rows, shorten_line
from .messages import CHANGED, FIRES_CHANGED, LIST_MARK, MEANS, SAME, SCHEDULED, UNDERSTOOD_MANY, WOULD_BE
from .receipt import approval_json, predecessor_names, preview_of, receipt_of, with_assumed_zone, with_warnings
from .refusals import refuse

PREVIEW_FIRES: Final = 5


class TaskChange(NamedTuple):
    facts: Facts
    change: str
    dry_run: bool


async def schedule_task(call: Call, arguments: Arguments) -> ToolResult:
    """Create a task; with a key, the task that has it is changed instead."""
    resolved, notes = await _resolve_request(call, arguments)
    request = resolved.request
    result = await _dry_run(call, request) if arguments.get("dry_run") else await _create(call, request)
    receipt = receipt_of(call, result.facts, notes, when=arguments.get("when"))
    receipt = await with_warnings(call, receipt, result.facts, resolved.warnings)
    receipt = with_assumed_zone(call, arguments, receipt)
    data = {
        "task": await _task_json(call, result),
        "change": result.change,
        "declared": resolved.declared_in(result.facts.task.schedule),
        "dry_run": result.dry_run,
        **approval_json(call, result.facts),
        **receipt.to_json(call),
    }
    task = result.facts.task
    return ToolResult(data, receipt.render(call, _headline(result), name=shorten_line(task.name), id=task.id))


async def _resolve_request(call: Call, arguments: Arguments) -> tuple[ResolvedRequest, tuple[Note, ...]]:
    work = work_of(arguments)
    zone = (
        zone_of(call, arguments)
        if "zone" in arguments
        else await _declared_zone(call, work) or zone_of(call, arguments)
    )
    when, notes = when_of(arguments, zone, call.principal.owner)
    if when is None:
        raise refuse_task("missing_field", name="when")
    if not work.keys() - {"payload"}:
        raise refuse_task("missing_field", name="do")
    definition: dict[str, Any] = {
        "name": arguments.get("name") or default_name(work),
        "when": when,
        "zone": zone,
        **work,
    }
    if "key" in arguments:
        definition["key"] = arguments["key"]
    if "lane" in arguments:
        definition["lane"] = arguments["lane"] or None
    if policies := _policies(arguments):
        definition["policies"] = policies
    require_zone(call, read_when(when, zone, call.clock.now()))
    resolved = await call.service.resolve(call.principal, read_task(definition))
    if "zone" not in arguments and zone is not None and zone != call.principal.zone:
        resolved = resolved._replace(declared=("zone", *resolved.declared))
    return resolved, notes


def _policies(arguments: Arguments) -> dict[str, Any]:
    policies: dict[str, Any] = {}
    if "if_late" in arguments:
        policies["missed"] = arguments["if_late"]
    if "start_within" in arguments:
        policies["start_within"] = None if arguments["start_within"] == NEVER else arguments["start_within"]
    if "gate" in arguments or "script" in arguments:
        policies["gate"] = gate_of(arguments)
    if "where" in arguments:
        policies["where"] = arguments["where"]
    if "lanes" in arguments:
        policies["lanes"] = arguments["lanes"]
    if "notify" in arguments:
        policies["notify"] = arguments["notify"] or None
    return policies


async def _declared_zone(call: Call, work: dict[str, Any]) -> str | None:
    """Return the zone that the function declares, which takes precedence over the owner's."""
    if "function" not in work:
        return None
    name = function_of(target_from_shorthand("function", work["function"]))
    known = (await call.service.functions.load()).find(name or "")
    return None if known is None else known.registration.defaults.zone


def require_zone(call: Call, schedule: Schedule) -> None:
    """Refuse a schedule without a zone: the deployment's own zone need not be the user's."""
    if schedule.zone is None and not isinstance(schedule, After):
        raise refuse("zone_needed", owner=call.principal.owner)


async def _create(call: Call, request: TaskRequest) -> TaskChange:
    tasks = call.service.tasks
    before = None if request.key is None else (await tasks.preview_declaration(call.principal, request))[0]
    task = await tasks.create(call.principal, request)
    return TaskChange(await tasks.get(call.principal, task.id), _change(before, task), dry_run=False)


async def _dry_run(call: Call, request: TaskRequest) -> TaskChange:
    """Return the task that would be created or changed, or raise the refusal that it would meet; nothing is written."""
    if request.key is not None:
        before, after = await call.service.tasks.preview_declaration(call.principal, request)
        if before is not None:
            return TaskChange(before._replace(task=after), _change(before, after), dry_run=True)
    seen: list[Facts] = []

    def capture(facts: Sequence[Facts]) -> tuple[RecordWrite, ...]:
        seen[:] = facts
        return ()

    await call.service.dry_run.tasks.create(call.principal, request, attach_records=capture)
    return TaskChange(seen[0], "new", dry_run=True)


def _change(before: Facts | None, after: Task) -> str:
    if before is None:
        return "new"
    return "same" if before.task.version == after.version else "changed"


async def _task_json(call: Call, result: TaskChange) -> dict[str, Any]:
    data = task_json(result.facts, call.language, names=await predecessor_names(call, result.facts.task))
    # The task of a dry run does not exist, so it has no id.
    return {**data, "id": None} if result.dry_run and result.change == "new" else data


def _headline(result: TaskChange) -> Message:
    if result.dry_run:
        return WOULD_BE
    return {"new": SCHEDULED, "changed": CHANGED, "same": SAME}[result.change]


async def update_task(call: Call, arguments: Arguments) -> ToolResult:
    """Change the given fields of a task, and report which future fires are removed and added."""
    before = await call.service.tasks.find_by_name(call.principal, id_of(arguments))
    fields, notes = _edit_fields(call, arguments, before.task)
    dry_run, edits = bool(arguments.get("dry_run")), read_edits(fields)
    edited = await call.service.tasks.edit(
        call.principal, before.task.id, edits, expected=arguments.get("version"), dry_run=dry_run
    )
    facts = (
        before._replace(task=edited.after) if dry_run else await call.service.tasks.get(call.principal, before.task.id)
    )
    advisories = await call.service.review(call.principal, edited, edits)
    receipt = await with_warnings(call, receipt_of(call, facts, notes, when=arguments.get("when")), facts, advisories)
    changed = _changed_fields(edited)
    data = {
        "before": definition_json(edited.before),
        "task": task_json(facts, call.language, names=await predecessor_names(call, facts.task)),
        "changed": changed,
        "removed": _fires_json(edited.fires.removed, edited.before),
        "added": _fires_json(edited.fires.added, edited.after),
        "dry_run": dry_run,
        **approval_json(call, facts),
        **receipt.to_json(call),
    }
    words = WOULD_BE if dry_run else CHANGED if changed else SAME
    return ToolResult(
        data,
        receipt.render(call, words, name=shorten_line(edited.after.name), id=before.task.id)
        + _fires_note(call, edited, facts),
    )


def _edit_fields(call: Call, arguments: Arguments, task: Task) -> tuple[dict[str, Any], tuple[Note, ...]]:
    zone = task.schedule.zone or call.principal.zone
    named = zone_of(call, arguments) if "zone" in arguments else zone
    when, notes = edited_when_of(arguments, task, named, call.principal.owner)
    fields: dict[str, Any] = {**work_of(arguments)}
    if when is not None:
        fields["when"] = when
    if "zone" in arguments:
        fields["zone"] = zone_of(call, arguments)
    if "name" in arguments:
        fields["name"] = arguments["name"]
    if "lane" in arguments:
        fields["lane"] = arguments["lane"] or None
    if policies := _policies(arguments):
        fields["policies"] = policies
    if not fields:
        raise refuse_task(
            "missing_field",
            name="when / after / do / name / zone / if_late / start_within / gate / where / lane / lanes / notify",
        )
    return fields, notes


def _changed_fields(edited: EditResult) -> list[str]:
    before, after = definition_json(edited.before), definition_json(edited.after)
    return [name for name in before if before[name] != after[name]]


def _fires_json(instants: tuple[datetime, ...], task: Task) -> list[dict[str, str | None]]:
    return [{"at": utc(each), "at_local": local(each, task.schedule.zone)} for each in instants]


def _fires_note(call: Call, edited: EditResult, facts: Facts) -> str:
    """Return the note on changed fires; empty for a task that is not active, since it does not fire."""
    is_moved = bool(edited.fires.removed or edited.fires.added)
    return FIRES_CHANGED.in_language(call.language) if is_moved and facts.status.state is TaskState.ACTIVE else ""


async def preview_schedule(call: Call, arguments: Arguments) -> ToolResult:
    """Return the meaning of a schedule and its next fires; an ambiguous one is returned with all its readings."""
    zone, when = zone_of(call, arguments), require(arguments, "when")
    try:
        reading = parse_when(when, zone=zone, now=call.clock.now())
    except Refusal as refusal:
        choices = choices_of(refusal, arguments)
        if choices is None:
            raise
        return _ambiguous_result(call, choices.values, zone)
    require_zone(call, reading.schedule)
    receipt = with_assumed_zone(call, arguments, preview_of(call, reading.schedule, PREVIEW_FIRES, reading.notes))
    data = {**receipt.to_json(call), "schedule": to_json(reading.schedule), "choices": []}
    return ToolResult(data, receipt.render(call, MEANS))


def _ambiguous_result(call: Call, texts: tuple[str, ...], zone: str | None) -> ToolResult:
    choices = [{"when": each, "means": _meaning_of(call, each, zone)} for each in texts]
    data = {"means": None, "zone": zone, "next_runs": [], "warnings": [], "schedule": None, "choices": choices}
    shown = LIST_MARK.in_language(call.language).join(f'"{each}"' for each in texts)
    return ToolResult(data, join_rows(UNDERSTOOD_MANY.in_language(call.language, choices=shown), [], call.language))


def _meaning_of(call: Call, text: str, zone: str | None) -> str | None:
    try:
        return describe_schedule(parse_text(text, zone=zone, now=call.clock.now()).schedule, call.language)
    except Refusal:
        # The choice itself is still ambiguous; that is reported when it is chosen.
        return None
