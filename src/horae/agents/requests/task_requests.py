"""Requests about tasks: schedule, update, pause, resume, cancel, run and explain."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from ...clock import Clock
from ...errors import NotFound
from ...model.accounts.account import agent_of
from ...model.agents.agent_task import AGENT_KIND
from ...model.agents.group import Group, folder_of_owner
from ...model.change import Change, Facts, facts_after
from ...model.ids import run_id
from ...model.limits import shorten
from ...model.origin import Origin
from ...model.record import RecordWrite
from ...model.refusals import refuse as refuse_task
from ...model.task import Target, Task
from ...schedule import Cron, Every, Once
from ...schedule.compat import nanoclaw
from ...service.query.argument_checks import check_id
from ...service.query.id_prefix import list_tasks
from ...service.tasks.edits import KEEP, Edits
from ...service.tasks.task_request import TaskRequest, When
from ...service.tasks.tasks import Tasks
from .answers import Answer, accepted, task_fields
from .context import RequestContext, choice_of, optional_text, text_of
from .group_list import list_groups
from .principals import GroupAccount, open_account
from .refusals import refuse

CONTEXT_MODES: Final = ("group", "isolated", "series")
DEFAULT_CONTEXT_MODE: Final = "isolated"
"""Of a file without a mode, as in NanoClaw; the tool writes `group`."""
IMPORTED_PREFIX: Final = "nanoclaw:"
"""Keys of imported tasks: an agent may know them by their former ids."""
_SCHEDULE_FIELDS: Final = ("schedule_type", "schedule_value")
_SCHEDULE_TYPES: Final = ("cron", "interval", "once")
_TASK_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")
_ZONE_SUFFIX: Final = re.compile(r"(?:[Zz]|[+-]\d{2}:?\d{2})\s*$")
_NAME_CHARACTERS: Final = 60

_Control = Callable[[Tasks, GroupAccount, Facts], Awaitable[object]]


class FoundTask(NamedTuple):
    account: GroupAccount
    facts: Facts


async def schedule_task(context: RequestContext, clock: Clock) -> Answer:
    """Create a task that prompts a group. With a taskId the task that has it is changed instead."""
    fields = context.fields(
        "prompt", *_SCHEDULE_FIELDS, "when", "targetJid", "context_mode", "script", "taskId", "name"
    )
    prompt = text_of(fields, "prompt")
    account = await context.account_of(await _target_group(context, fields))
    when = _read_when(fields, account.zone)
    if when is None:
        raise refuse_task("missing_field", name="schedule_type")
    mode = choice_of(fields, "context_mode", CONTEXT_MODES) or DEFAULT_CONTEXT_MODE
    request = TaskRequest(
        optional_text(fields, "name") or name_of(prompt),
        when,
        _agent_target(account.group.folder, mode, optional_text(fields, "script")),
        _encode({"prompt": prompt}),
        key=_read_task_id(fields),
        zone=account.zone,
    )
    answers: list[Answer] = []

    def attach(made: Any) -> tuple[RecordWrite, ...]:
        answers[:] = [_task_answer(context, "Task scheduled", made[0], clock)]
        return (context.record.write(answers[0]),)

    # A task that a run makes counts in the line of tasks that made each other.
    lineage = await context.service.lineages.find(context.actor, context.request.written)
    await context.service.tasks.create(account.agent._replace(lineage=lineage), request, attach_records=attach)
    return answers[0]


async def update_task(context: RequestContext, clock: Clock) -> Answer:
    """Change the prompt, the script, the mode, the name or the schedule of a task that prompts the own group."""
    fields = context.fields("taskId", "prompt", "script", *_SCHEDULE_FIELDS, "when", "context_mode", "name")
    found = await find_task(context, text_of(fields, "taskId"))
    task = found.facts.task
    spec = agent_spec(task)
    if spec is None or spec.get("group") != found.account.group.folder:
        raise refuse("request_not_own_prompt", name=task.name, id=task.id)
    if agent_of(task) is None and "script" in fields:
        # The task of a person needs no approval, so that a script of an agent in it would have none.
        raise refuse("request_script", name=task.name, id=task.id)
    edits = _read_edits(fields, found, spec)
    if edits == Edits():
        raise refuse_task("missing_field", name="prompt / script / schedule_type / when / context_mode / name")

    async def edit(tasks: Tasks, account: GroupAccount, facts: Facts) -> None:
        await tasks.edit(account.for_edit(facts.task), facts.task.id, edits)

    return await _change(context, found, "Task updated", edit, clock)


async def pause_task(context: RequestContext, clock: Clock) -> Answer:
    async def pause(tasks: Tasks, account: GroupAccount, facts: Facts) -> None:
        note = f"paused by the agent of {context.actor.folder}"
        await tasks.pause(account.for_task(facts.task), facts.task.id, note=note)

    return await _control(context, "Task paused", pause, clock)


async def resume_task(context: RequestContext, clock: Clock) -> Answer:
    async def resume(tasks: Tasks, account: GroupAccount, facts: Facts) -> None:
        await tasks.resume(account.for_task(facts.task), facts.task.id)

    return await _control(context, "Task resumed", resume, clock)


async def cancel_task(context: RequestContext, clock: Clock) -> Answer:
    async def cancel(tasks: Tasks, account: GroupAccount, facts: Facts) -> None:
        await tasks.cancel(account.for_task(facts.task), facts.task.id)

    return await _control(context, "Task cancelled", cancel, clock)


async def run_task(context: RequestContext, clock: Clock) -> Answer:
    """Start one extra run of a task; its schedule does not change."""

    async def run_now(tasks: Tasks, account: GroupAccount, facts: Facts) -> None:
        await tasks.run_now(account.for_task(facts.task), facts.task.id)

    return await _control(context, "Run requested", run_now, clock)


async def explain_task(context: RequestContext, _clock: Clock) -> Answer:
    """Explain why a task ran or did not run: at an instant, or the newest time."""
    fields = context.fields("taskId", "at")
    found = await find_task(context, text_of(fields, "taskId"))
    task = found.facts.task
    why = await context.service.explanations.explain(
        found.account.for_task(task), task.id, optional_text(fields, "at"), found.account.zone
    )
    answer = accepted(
        context.kind, why.explanation.in_language("en"), task=task.id, verdict=why.explanation.verdict.value
    )
    if context.account.language == "zh":
        answer["message_zh"] = why.explanation.in_language("zh")
    return answer


# --- lookup ----------------------------------------------------------------------------------------------------------


async def find_task(context: RequestContext, name: str) -> FoundTask:
    """Find a task by id, taskId or name: of the own group, and for the agent of a main group of any group.

    The task of another owner answers like an absent one.
    """
    check_id(name, "no_such_task")
    found: list[tuple[Group, Facts]] = []
    for group in await _groups_to_search(context, name):
        facts = await _find_in_group(context, await open_account(context.service, context.actor, group), name)
        if facts is not None:
            found.append((group, facts))
            if group.folder == context.actor.folder:
                break
    if not found:
        raise refuse_task("no_such_task", id=name)
    if len(found) > 1:
        raise refuse_task("ambiguous_name", name=name, found=list_tasks([facts.task for _, facts in found]))
    (group, facts), *_ = found
    return FoundTask(await context.account_of(group), facts)


async def _groups_to_search(context: RequestContext, name: str) -> list[Group]:
    actor = context.actor
    if not actor.is_main:
        return [actor]
    facts = await context.service.store.facts(name, None)
    if facts is not None:
        group = await context.service.groups.find(folder_of_owner(facts.task.owner) or "")
        return [] if group is None else [group]
    others = [each for each in await list_groups(context.service) if each.folder != actor.folder]
    return [actor, *others]


async def _find_in_group(context: RequestContext, account: GroupAccount, name: str) -> Facts | None:
    tasks = context.service.tasks
    try:
        for principal, key in (
            (account.agent, name),
            (account.agent._replace(agent=account.group.folder), name),
            (account.person, name),
            (account.person, f"{IMPORTED_PREFIX}{name}"),
        ):
            keyed = await tasks.find_by_key(principal, key)
            if keyed is not None:
                return keyed
        found = await tasks.find_by_name(account.person, name)
    except NotFound:
        return None
    # A part of a name is not enough: a request must not cancel a task that it did not name.
    return found if found.task.name == name or found.task.id.startswith(name) else None


def agent_spec(task: Task) -> Mapping[str, Any] | None:
    """Return the specification of a task that prompts an agent; None for any other task."""
    if task.target.kind != AGENT_KIND:
        return None
    spec = json.loads(task.target.spec)
    return spec if isinstance(spec, dict) else None


# --- changes ---------------------------------------------------------------------------------------------------------


async def _control(context: RequestContext, message: str, control: _Control, clock: Clock) -> Answer:
    found = await find_task(context, text_of(context.fields("taskId"), "taskId"))
    return await _change(context, found, message, control, clock)


async def _change(context: RequestContext, found: FoundTask, message: str, control: _Control, clock: Clock) -> Answer:
    """Carry out a change with which the answer is stored. A change without an effect is answered with the task as it is."""
    answers: list[Answer] = []

    def attach(facts: Facts, change: Change) -> tuple[RecordWrite, ...]:
        if change == Change():
            return ()
        answer = {**_task_answer(context, message, facts_after(facts, change), clock), **_run_of(change, facts)}
        answers[:] = [answer]
        return (context.record.write(answer),)

    await control(context.service.tasks.with_attached(attach), found.account, found.facts)
    return answers[0] if answers else _task_answer(context, message, found.facts, clock)


def _run_of(change: Change, facts: Facts) -> dict[str, str]:
    """Return the id of the run that a manual request starts."""
    for entry in change.put:
        if entry.origin is Origin.MANUAL:
            return {"run": run_id(facts.task.id, Origin.MANUAL, entry.planned, 1)}
    return {}


def _task_answer(context: RequestContext, message: str, facts: Facts, clock: Clock) -> dict[str, Any]:
    fields = task_fields(facts, clock.now(), context.account.language)
    return accepted(context.kind, message, task=fields)


# --- fields ----------------------------------------------------------------------------------------------------------


async def _target_group(context: RequestContext, fields: Mapping[str, Any]) -> Group:
    chat = optional_text(fields, "targetJid")
    group = await context.group_of_chat(chat)
    if group is None:
        raise refuse("request_unknown_chat", chat=chat)
    return group


def _read_when(fields: Mapping[str, Any], zone: str) -> When | None:
    given = [name for name in _SCHEDULE_FIELDS if name in fields]
    if "when" in fields:
        if given:
            raise refuse("request_two_schedules")
        return text_of(fields, "when")
    if not given:
        return None
    kind = choice_of(fields, "schedule_type", _SCHEDULE_TYPES)
    for name in _SCHEDULE_FIELDS:
        if name not in fields:
            raise refuse_task("missing_field", name=name)
    value = fields["schedule_value"]
    if kind == "once" and isinstance(value, str) and _ZONE_SUFFIX.search(value) and "T" in value.upper():
        raise refuse("request_once_zone", value=value, zone=zone)
    reading = nanoclaw.read({name: fields[name] for name in _SCHEDULE_FIELDS}, zone=zone)
    return reading.schedule.with_defaults(zone)


def _read_task_id(fields: Mapping[str, Any]) -> str | None:
    value = optional_text(fields, "taskId")
    if value is not None and _TASK_ID.fullmatch(value) is None:
        raise refuse("request_task_id", value=value)
    return value


def _read_edits(fields: Mapping[str, Any], found: FoundTask, spec: Mapping[str, Any]) -> Edits:
    task = found.facts.task
    if "schedule_value" in fields and "schedule_type" not in fields:
        fields = {**fields, "schedule_type": _schedule_type(task)}
    when = _read_when(fields, task.schedule.zone or found.account.zone)
    changed = dict(spec)
    mode = choice_of(fields, "context_mode", CONTEXT_MODES)
    if mode is not None:
        changed["context_mode"] = mode
    script = optional_text(fields, "script")
    if script is not None:
        changed["script"] = script or None
    changed = {name: value for name, value in changed.items() if value is not None}
    payload = json.loads(task.payload)
    if "prompt" in fields:
        payload = {**(payload if isinstance(payload, dict) else {}), "prompt": text_of(fields, "prompt")}
    return Edits(
        name=KEEP if "name" not in fields else text_of(fields, "name"),
        when=KEEP if when is None else when,
        target=KEEP if changed == spec else Target(AGENT_KIND, _encode(changed)),
        payload=KEEP if "prompt" not in fields else _encode(payload),
    )


def _schedule_type(task: Task) -> str:
    """Return NanoClaw's word for the kind of the current schedule."""
    match task.schedule:
        case Every():
            return "interval"
        case Once():
            return "once"
        case Cron():
            return "cron"
        case _:
            raise refuse_task("missing_field", name="schedule_type")


def _agent_target(folder: str, mode: str, script: str | None) -> Target:
    spec = {"group": folder, "context_mode": mode, "script": script or None}
    return Target(AGENT_KIND, _encode({name: value for name, value in spec.items() if value is not None}))


def name_of(prompt: str) -> str:
    """Return the name of a task without one: the beginning of its prompt, on one line."""
    line = "".join(each if each.isprintable() else " " for each in prompt)
    return shorten(" ".join(line.split()), _NAME_CHARACTERS) or "prompt"


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
