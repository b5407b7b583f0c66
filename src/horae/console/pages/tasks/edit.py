"""New and Edit task: one form over the declared shape of a task, saved through the same service as HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from starlette.responses import Response

from ....errors import HoraeError, Refusal
from ....model.accounts.principal import Scope
from ....model.change import Facts
from ....model.refusals import refuse as refuse_task
from ....model.task import Task
from ....service.tasks.edits import EditResult
from ....service.tasks.parsed_task import ParsedTask, parse_request, replacing_edits
from ....service.tasks.task_request import read_when
from ....web.problems import status_of
from ....wire.problems import problem_json
from ....wire.tasks.code import TaskCode, task_code
from ....wire.tasks.receipts import changed_fields
from ....wire.tasks.task import after_when, next_due, read_edits, read_task
from ...formats import format_clock, format_distance
from ...notice import Undo
from ...page import PageRequest, form, page
from ...request import Form
from ...tasks.check import CheckResult, check_edit, check_new, only_new
from ...tasks.fields import TaskWords, form_data, load_choices
from ...tasks.form import KIND_FIELD, body_of, field_of, is_same_schedule, links_in, texts_of_task
from ...tasks.merge import Conflict, base_json, merge_texts
from ...tasks.schedule_fields import PREFIX, text_of_fields
from ...tasks.schedule_preview import SchedulePreview, preview_after, preview_task, preview_text

_CHANGED_MEANWHILE: Final = frozenset({"stale_version", "version_changed"})
_ACTIONS: Final = "do"
_MAX_NAMES: Final = 200


@dataclass(frozen=True, slots=True)
class EditState:
    """State of the page: the texts of the form, and the result of the last button."""

    texts: dict[str, str]
    facts: Facts | None = None
    base: str = ""
    version: int = 0
    days: list[str] = field(default_factory=list)
    problem: dict[str, Any] | None = None
    problem_field: str | None = None
    status: int = 200
    check: CheckResult | None = None
    code: TaskCode | None = None
    conflict: Conflict | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of the tasks that it runs after, by id."""

    @property
    def task(self) -> Task | None:
        return None if self.facts is None else self.facts.task


# --- pages ---------------------------------------------------------------------------------------------------------------


async def show_new(request: PageRequest) -> Response:
    """Show an empty form; the query may fill fields: `?when=every+day+at+9am&name=report`."""
    request.viewer.principal.require_scope(Scope.WRITE)
    texts = {KIND_FIELD: "event", "zone": request.viewer.zone, **request.request.query_params}
    return await _render(request, EditState(texts))


async def show_edit(request: PageRequest) -> Response:
    request.viewer.principal.require_scope(Scope.WRITE)
    return await _render(request, await _stored_state(request))


async def _stored_state(request: PageRequest) -> EditState:
    facts = await request.service.tasks.get(request.viewer.principal, request.request.path_params["id"])
    names = await _predecessor_names(request, facts)
    texts = texts_of_task(facts.task, request.viewer.language, names)
    base = base_json(texts, request.viewer.language)
    state = EditState(texts, facts, base, facts.task.version, names=names)
    return replace(state, code=_code(request, state))


async def _predecessor_names(request: PageRequest, facts: Facts) -> dict[str, str]:
    return await request.service.tasks.predecessor_names(request.viewer.principal, [facts.task])


async def submit_new(request: PageRequest) -> Response:
    request.viewer.principal.require_scope(Scope.WRITE)
    return await _submit(request, EditState(dict(request.form), days=request.form.all(f"{PREFIX}.days")))


async def submit_edit(request: PageRequest) -> Response:
    request.viewer.principal.require_scope(Scope.WRITE)
    facts = await request.service.tasks.get(request.viewer.principal, request.request.path_params["id"])
    sent = request.form
    names = await _predecessor_names(request, facts)
    state = EditState(dict(sent), facts, sent.text("base"), _version(sent), sent.all(f"{PREFIX}.days"), names=names)
    return await _submit(request, state)


def _version(sent: Form) -> int:
    """Return the version that the form was loaded with; 0, which no task has, for any other text."""
    text = sent.text("version")
    return int(text) if re.fullmatch("[0-9]{1,15}", text) else 0


async def _submit(request: PageRequest, state: EditState) -> Response:
    """Do what the pressed button says; a refusal shows the form again with its input."""
    action = request.form.text(_ACTIONS)
    try:
        if chosen := request.form.text("choose"):
            return await _render(request, replace(state, texts={**state.texts, "when": chosen}))
        match action:
            case "save" | "save_run":
                save = _create if state.facts is None else _edit
                return await save(request, state, runs=action == "save_run")
            case "fields":
                return await _render(request, await _write_schedule_text(request, state))
            case "check":
                return await _render(request, replace(state, check=await _check(request, state)))
            case "code":
                return await _render(request, replace(state, code=_code(request, state, strict=True)))
            case _:
                return await _render(request, state)
    except Refusal as refusal:
        if refusal.code in _CHANGED_MEANWHILE and state.facts is not None:
            return await _render(request, _merge_saved_change(request, state))
        return await _render(request, _add_problem(request, state, refusal))


def _add_problem(request: PageRequest, state: EditState, refusal: HoraeError) -> EditState:
    problem = problem_json(refusal, request.viewer.language)
    return replace(state, problem=problem, problem_field=field_of(refusal, state.texts), status=status_of(refusal))


async def _write_schedule_text(request: PageRequest, state: EditState) -> EditState:
    """Write the text of the schedule from the structured fields."""
    preview = await preview_text(request, state.texts.get("when", ""), state.texts.get("zone", ""), state.task)
    text = text_of_fields(state.texts, state.days, request.viewer.language, preview.schedule)
    return replace(state, texts={**state.texts, "when": text})


# --- saving --------------------------------------------------------------------------------------------------------------


async def _parse(request: PageRequest, state: EditState) -> ParsedTask:
    value = read_task(body_of(state.texts, state.task, state.names), exported=state.facts is not None)
    owner = None if state.task is None else state.task.owner
    now = request.context.clock.now()
    return await parse_request(request.service, request.viewer.principal, value, now, owner=owner)


async def _create(request: PageRequest, state: EditState, *, runs: bool) -> Response:
    parsed, principal = await _parse(request, state), request.viewer.principal
    tasks = request.service.tasks.with_condition(only_new(parsed.request.key))
    task = await tasks.create(principal, parsed.request)
    facts = await request.service.tasks.get(principal, task.id)
    undo = Undo(f"/tasks/{task.id}/undo-new", {"version": str(task.version)})
    if runs:
        return await _run_and_leave(request, task, "edit_created_run", undo)
    due = next_due(facts)
    if due is None:
        notice = request.notice("edit_created_no_next", undo, task=task.name)
    else:
        when = f"{format_clock(due, request.viewer)} ({format_distance(due, request.viewer)})"
        notice = request.notice("edit_created", undo, task=task.name, next=when)
    return request.redirect(f"/tasks/{task.id}", notice)


async def _edit(request: PageRequest, state: EditState, *, runs: bool) -> Response:
    if state.task is None:
        raise refuse_task("no_such_task", id="")
    parsed, principal = await _parse(request, state), request.viewer.principal
    edits = replacing_edits(principal, parsed, state.task)
    edited = await request.service.tasks.edit(principal, state.task.id, edits, expected=state.version)
    task = edited.after
    undo = _undo_edit(edited)
    if runs:
        return await _run_and_leave(request, task, "edit_saved_run", undo)
    name = "edit_saved" if undo is not None else "edit_unchanged"
    return request.redirect(f"/tasks/{task.id}", request.notice(name, undo, task=task.name))


async def _run_and_leave(request: PageRequest, task: Task, name: str, undo: Undo | None) -> Response:
    """Run the saved task once; a refusal to run it is said, because the task itself is saved."""
    try:
        await request.service.tasks.run_now(request.viewer.principal, task.id)
        notice = request.notice(name, undo, task=task.name)
    except Refusal as refusal:
        why = refusal.in_language(request.viewer.language).message
        notice = request.notice("edit_not_run", undo, task=task.name, why=why)
    return request.redirect(f"/tasks/{task.id}", notice)


def _undo_edit(edited: EditResult) -> Undo | None:
    """Return the form that restores the changed fields; None where nothing changed."""
    changed = changed_fields(edited)
    if not changed:
        return None
    fields: dict[str, Any] = {}
    for name, change in changed.items():
        policy = name.removeprefix("policies.")
        if policy != name:
            fields.setdefault("policies", {})[policy] = change["from"]
        elif name != "zone" or "when" not in changed:
            fields[name] = change["from"]
    if "when" in fields:
        fields.pop("zone", None)
    restored = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return Undo(f"/tasks/{edited.after.id}/undo-edit", {"version": str(edited.after.version), "fields": restored})


async def undo_new(request: PageRequest) -> Response:
    """Remove a task that was just created, unless it was edited since."""
    task_id, principal = request.request.path_params["id"], request.viewer.principal
    facts = await request.service.tasks.get(principal, task_id)
    expected = _version(request.form)

    def check(current: Facts | None) -> None:
        if current is not None and current.task.version != expected:
            raise refuse_task("stale_version", version=current.task.version, expected=expected)

    await request.service.tasks.with_condition(check).delete(principal, task_id)
    return request.redirect("/tasks", request.notice("edit_undone_new", task=facts.task.name))


async def undo_edit(request: PageRequest) -> Response:
    """Restore the fields that an edit changed, unless the task was edited since."""
    task_id = request.request.path_params["id"]
    try:
        edits = read_edits(json.loads(request.form.text("fields")))
    except (ValueError, RecursionError):
        raise refuse_task("bad_payload", value="fields") from None
    principal = request.viewer.principal
    edited = await request.service.tasks.edit(principal, task_id, edits, expected=_version(request.form))
    return request.back(f"/tasks/{task_id}", request.notice("edit_undone", task=edited.after.name))


def _merge_saved_change(request: PageRequest, state: EditState) -> EditState:
    """Return the form with the change that was saved meanwhile; fields that the viewer changed keep their text."""
    if state.facts is None:
        return state
    words = TaskWords(request.viewer.language)
    texts, conflict = merge_texts(state.texts, state.base, state.facts.task, words, state.names)
    current = texts_of_task(state.facts.task, request.viewer.language, state.names)
    base = base_json(current, request.viewer.language)
    return replace(state, texts=texts, base=base, version=state.facts.task.version, conflict=conflict, status=409)


# --- check and code ------------------------------------------------------------------------------------------------------


async def _check(request: PageRequest, state: EditState) -> CheckResult:
    parsed, principal = await _parse(request, state), request.viewer.principal
    if state.task is None:
        return await check_new(request, parsed)
    return await check_edit(request, state.task, replacing_edits(principal, parsed, state.task), parsed)


def _code(request: PageRequest, state: EditState, *, strict: bool = False) -> TaskCode | None:
    """Return the task in the form as code; None while the form is not complete. `strict`: raise what is wrong."""
    texts, task = state.texts, state.task
    if task is not None:
        is_own = task.owner == request.viewer.principal.owner
        texts = {**texts, "key": task.key or "", "owner": "" if is_own else task.owner}
    try:
        body = body_of(texts)
        if "when" not in body:
            body["when"] = after_when(body.pop("after"), body.pop("mode", None))
        schedule = read_when(body["when"], body.get("zone"), request.context.clock.now())
    except Refusal:
        if strict:
            raise
        return None
    url = request.request.url
    return task_code(body, f"{url.scheme}://{url.netloc}", is_once=schedule.kind in ("now", "once"))


# --- rendering -----------------------------------------------------------------------------------------------------------


async def _render(request: PageRequest, state: EditState) -> Response:
    preview = await _preview(request, state)
    if state.problem is None and preview.problem is not None and state.status == 200 and state.texts.get("when"):
        # The preview shows what is wrong with the text; the field itself is marked.
        state = replace(state, problem_field="when")
    problems = {}
    if state.problem is not None and state.problem_field is not None:
        problems[state.problem_field] = f"{state.problem['detail']} {state.problem['hint']}".strip()
    choices = await load_choices(request, state.task)
    data = {
        "page": "tasks",
        "state": state,
        "preview": preview,
        "action": request.request.url.path,
        **form_data(request.viewer, state.texts, choices, preview, problems, state.days, is_new=state.facts is None),
    }
    return request.render("edit_task.html", data, state.status)


async def _preview(request: PageRequest, state: EditState) -> SchedulePreview:
    when, zone = state.texts.get("when", ""), state.texts.get("zone", "")
    if not when.strip() and (links := links_in(state.texts)):
        return preview_after(request, links, state.texts.get("mode", ""))
    if state.task is not None and is_same_schedule(state.texts, state.task, state.names):
        return await preview_task(request, when, zone, state.task.id)
    return await preview_text(request, when, zone, state.task)


ROUTES: Final = (
    page("/tasks/new", show_new),
    form("/tasks/new", submit_new),
    page("/tasks/{id}/edit", show_edit),
    form("/tasks/{id}/edit", submit_edit),
    form("/tasks/{id}/undo-new", undo_new),
    form("/tasks/{id}/undo-edit", undo_edit),
)
