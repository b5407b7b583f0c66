"""Actions on one task: run now, pause, resume, undo of a cancel, skip, delete, and a backfill with its preview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from ....errors import Refusal
from ....model.accounts.principal import Scope
from ....model.change import Facts
from ....model.refusals import refuse as refuse_task
from ....model.task import PauseCause
from ....service.query.instants import parse_future_instant, parse_span
from ....service.tasks.catch_up_previews import BackfillPreview, compute_backfill
from ....service.tasks.operations.actions import read_missed_mode
from ...notice import Undo
from ...page import PageRequest, form, page
from ...refusals import refuse
from ...run_inputs import read_input_fields
from .task import load, render_refused


async def run_now(request: PageRequest) -> Response:
    facts = await load(request)
    try:
        given = read_input_fields(request.form)
        gate_only = request.form.text("gate_only") == "1"
        principal = request.viewer.principal
        run_id = await request.service.tasks.run_now(principal, facts.task.id, given, gate_only=gate_only)
    except Refusal as refusal:
        return await render_refused(request, facts, refusal, "run")
    notice = "task_gate_asked" if gate_only else "task_run_requested"
    return request.back(_path(facts), request.notice(notice, task=facts.task.name, run=run_id))


async def pause(request: PageRequest) -> Response:
    facts, viewer, until = await load(request), request.viewer, request.form.text("until")
    try:
        end = None if not until else parse_future_instant(until, viewer.zone, viewer.now)
        note = request.form.text("note")
        await request.service.tasks.pause(viewer.principal, facts.task.id, note=note, until=end)
    except Refusal as refusal:
        return await render_refused(request, facts, refusal, "pause")
    undo = Undo(f"{_path(facts)}/resume", {"missed": "skip"}) if facts.status.pause is None else None
    return request.back(_path(facts), request.notice("task_paused", undo, task=facts.task.name))


async def resume(request: PageRequest) -> Response:
    facts = await load(request)
    try:
        mode = read_missed_mode(request.form.text("missed") or "skip")
        await request.service.tasks.resume(request.viewer.principal, facts.task.id, mode)
    except Refusal as refusal:
        return await render_refused(request, facts, refusal, "resume")
    undo = _pause_again(facts) if mode == "skip" else None
    return request.back(_path(facts), request.notice("task_resumed", undo, task=facts.task.name))


def _pause_again(facts: Facts) -> Undo | None:
    """Return the form that pauses a task as it was; None if it was not paused by a person."""
    before = facts.status.pause
    if before is None or before.cause is not PauseCause.REQUESTED:
        return None
    fields = {"note": before.note, "until": "" if before.until is None else before.until.isoformat()}
    return Undo(f"{_path(facts)}/pause", fields)


async def restore(request: PageRequest) -> Response:
    facts = await load(request)
    try:
        await request.service.tasks.undo_cancel(request.viewer.principal, facts.task.id)
    except Refusal as refusal:
        return await render_refused(request, facts, refusal, "restore")
    return request.back(_path(facts), request.notice("task_restored", task=facts.task.name))


async def skip(request: PageRequest) -> Response:
    """Skip the next occurrences; the field `number` is 1 more than before unless it is given."""
    facts = await load(request)
    typed = request.form.text("number")
    number = int(typed) if typed.isdecimal() else facts.status.skips_left + 1
    try:
        await request.service.tasks.skip_next(request.viewer.principal, facts.task.id, number)
    except Refusal as refusal:
        return await render_refused(request, facts, refusal, "skip")
    undo = Undo(f"{_path(facts)}/skip", {"number": str(facts.status.skips_left)})
    name = "task_skips" if number else "task_skips_none"
    notice = request.notice(name, undo, number=number, task=facts.task.name)
    return request.back(_path(facts), notice)


async def delete(request: PageRequest) -> Response:
    facts = await load(request)
    request.viewer.principal.require_scope(Scope.WRITE)
    typed, name = request.form.text("confirm"), facts.task.name
    try:
        if " ".join(typed.split()) != " ".join(name.split()):
            raise refuse("not_confirmed", value=typed, wanted=name)
        await request.service.tasks.delete(request.viewer.principal, facts.task.id)
    except Refusal as refusal:
        return await render_refused(request, facts, refusal, "delete")
    return request.redirect("/tasks", request.notice("task_deleted", task=name))


# --- backfill ------------------------------------------------------------------------------------------------------


async def preview_backfill(request: PageRequest) -> Response:
    """Show how many occurrences a range has, and the first of them; nothing is written."""
    facts, query = await load(request), request.request.query_params
    request.viewer.principal.require_scope(Scope.RUN)
    return await _show_backfill(request, facts, query)


async def backfill(request: PageRequest) -> Response:
    facts = await load(request)
    principal, fields = request.viewer.principal, request.form
    try:
        preview = _read_range(request, facts, fields)
        again, given = bool(fields.get("again")), read_input_fields(fields)
        await request.service.tasks.backfill(
            principal, facts.task.id, preview.first, preview.last, again=again, given=given
        )
    except Refusal as refusal:
        return await _show_backfill(request, facts, fields, refusal)
    notice = request.notice("task_backfill_queued", number=preview.number)
    return request.redirect(_path(facts), notice, backfill=preview.number)


async def _show_backfill(
    request: PageRequest, facts: Facts, fields: Mapping[str, str], refusal: Refusal | None = None
) -> Response:
    preview: BackfillPreview | None = None
    if refusal is None and fields.get("from"):
        try:
            preview = _read_range(request, facts, fields)
            again, given = bool(fields.get("again")), read_input_fields(fields)
            await request.service.dry_run.tasks.backfill(
                request.viewer.principal, facts.task.id, preview.first, preview.last, again=again, given=given
            )
        except Refusal as error:
            refusal, preview = error, None
    data = {"page": "tasks", "task": facts.task, "values": fields, "preview": preview, "problem": None}
    if refusal is None:
        return request.render("task_backfill.html", data)
    return request.render_refused("task_backfill.html", data, refusal)


def _read_range(request: PageRequest, facts: Facts, fields: Mapping[str, str]) -> BackfillPreview:
    """Read the range of a backfill in the zone of the viewer; its end is not after now."""
    viewer = request.viewer
    for name in ("from", "to"):
        if not fields.get(name, "").strip():
            raise refuse_task("missing_field", name=name)
    first = parse_span(fields["from"].strip(), viewer.zone, viewer.now).first
    last = parse_span(fields["to"].strip(), viewer.zone, viewer.now).last
    return compute_backfill(facts, first, min(last, viewer.now))


def _path(facts: Facts) -> str:
    return f"/tasks/{facts.task.id}"


ROUTES: Final = (
    form("/tasks/{id}/run", run_now),
    form("/tasks/{id}/pause", pause),
    form("/tasks/{id}/resume", resume),
    form("/tasks/{id}/restore", restore),
    form("/tasks/{id}/skip", skip),
    form("/tasks/{id}/delete", delete),
    page("/tasks/{id}/backfill", preview_backfill),
    form("/tasks/{id}/backfill", backfill),
)
