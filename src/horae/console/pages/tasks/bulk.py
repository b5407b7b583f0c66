"""Bulk actions: a preview of the selected or matching tasks, the action itself, and the progress of long ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ....errors import Conflict, HoraeError, NotAuthenticated, Refusal
from ....model.accounts.operation import OperationState
from ....model.change import Facts
from ....ports.store import TaskFilter
from ....service.accounts.rights import has_same_rights
from ....service.query.filters import narrow_task_filter
from ....service.query.instants import parse_future_instant
from ....service.tasks.lookup import TaskCount
from ....service.tasks.operations.actions import (
    MAX_SYNCHRONOUS,
    ActionArguments,
    LoadedTasks,
    load_selected,
    make_action,
)
from ....service.tasks.operations.operations import OperationRequest, scope_for
from ....service.tasks.operations.worker import Permission
from ...notice import Notice, Undo
from ...page import PageRequest, form, page
from ...refusals import refuse
from ...request import session_cookie

ACTIONS: Final = ("run", "pause", "resume", "delete")
MAX_UNCONFIRMED: Final = 20
"""Above this number of tasks, and for every deletion, the number has to be typed."""
_MAX_NAMES: Final = 20
_UNDO_SECONDS: Final = 5.0
"""Time in which an undo may end before its own page is shown."""


class BulkOrder(NamedTuple):
    """An action on tasks that were selected one by one (`ids`), or on all that match a query."""

    action: str
    ids: tuple[str, ...]
    query: str | None
    fields: Mapping[str, str]

    @property
    def task_filter(self) -> TaskFilter:
        return narrow_task_filter(TaskFilter(), self.query or "")


class _Matched(NamedTuple):
    """Tasks that were read, and the number of all that match."""

    tasks: tuple[Facts, ...]
    size: TaskCount

    @property
    def is_large(self) -> bool:
        return len(self.tasks) > MAX_SYNCHRONOUS


async def show_preview(request: PageRequest) -> Response:
    query = request.request.query_params
    return await _show_preview(request, _read_order(query, query.getlist("id")))


async def apply(request: PageRequest) -> Response:
    order = _read_order(request.form, request.form.all("id"))
    request.viewer.principal.require_scope(scope_for(order.action))
    try:
        matched = await _match(request, order)
        _check_confirmation(order, matched.size)
        arguments = _read_arguments(request, order)
        return await _apply(request, order, matched, arguments)
    except Refusal as refusal:
        return await _show_preview(request, order, refusal)


def _read_order(fields: Mapping[str, str], ids: Sequence[str]) -> BulkOrder:
    action = fields.get("action", "")
    if action not in ACTIONS:
        raise refuse("nothing_selected")
    chosen = (*ids, *filter(None, fields.get("ids", "").split(",")))
    is_filter = bool(fields.get("all"))
    return BulkOrder(action, () if is_filter else chosen, fields.get("q", "") if is_filter else None, fields)


async def _match(request: PageRequest, order: BulkOrder) -> _Matched:
    principal, tasks = request.viewer.principal, request.service.tasks
    if order.query is None:
        selected = await load_selected(tasks, principal, order.ids)
        if not selected:
            raise refuse("nothing_selected")
        return _Matched(selected, TaskCount(len(selected)))
    listed = await tasks.page(principal, order.task_filter, None, MAX_SYNCHRONOUS + 1)
    if not listed.items:
        raise refuse("nothing_selected")
    is_complete = listed.after is None and len(listed.items) <= MAX_SYNCHRONOUS
    count = TaskCount(len(listed.items)) if is_complete else await tasks.count(principal, order.task_filter)
    return _Matched(listed.items, count)


def needs_confirmation(action: str, number: int) -> bool:
    return action == "delete" or number > MAX_UNCONFIRMED


def _check_confirmation(order: BulkOrder, count: TaskCount) -> None:
    typed, wanted = order.fields.get("confirm", "").strip(), str(count.number)
    if needs_confirmation(order.action, count.number) and typed != wanted:
        raise refuse("not_confirmed", value=typed, wanted=wanted)


def _read_arguments(request: PageRequest, order: BulkOrder) -> dict[str, str]:
    """Return the arguments of the action as HTTP has them; a time is read in the zone of the viewer."""
    fields, arguments = order.fields, dict[str, str]()
    if order.action == "pause":
        until = fields.get("until", "").strip()
        if fields.get("note", "").strip():
            arguments["note"] = fields["note"].strip()
        if until:
            arguments["until"] = parse_future_instant(until, request.viewer.zone, request.viewer.now).isoformat()
    if order.action == "resume":
        arguments["missed"] = fields.get("missed") or "skip"
    return arguments


async def _apply(request: PageRequest, order: BulkOrder, matched: _Matched, arguments: dict[str, str]) -> Response:
    principal, service = request.viewer.principal, request.service
    given = ActionArguments(
        request.viewer.zone, arguments.get("note", ""), arguments.get("until"), arguments.get("missed", "skip")
    )
    log = service.operations.new_log(principal, order.action)
    action = make_action(principal, service.tasks, order.action, given, request.viewer.now, log)
    # Tasks that were selected, or are few, are those that were read; many are read again page by page.
    selected = LoadedTasks(matched.tasks) if order.query is None or not matched.is_large else None
    begun = OperationRequest(order.action, {} if order.query is None else {"q": order.query}, arguments)
    if matched.is_large:
        operation = await service.operations.begin(
            principal, begun, order.task_filter, action, _permission_check(request), log=log, tasks=selected
        )
        return request.redirect(f"/operations/{operation.id}")
    report = await service.operations.act(principal, begun, order.task_filter, action, log=log, tasks=selected)
    undo = None if report.undo is None else Undo(f"/operations/{report.undo}/undo", _list_query(order))
    if report.refused:
        data = {"page": "tasks", "order": order, "report": report, "undo": undo}
        return request.render("tasks_bulk_result.html", data)
    notice = request.notice(f"bulk_done_{order.action}", undo, number=report.done)
    return request.redirect("/tasks", notice, **_list_query(order))


def _list_query(order: BulkOrder) -> dict[str, str]:
    return {"q": order.fields["q"]} if "q" in order.fields else {}


def _permission_check(request: PageRequest) -> Permission:
    """Return a check for a running operation: the session is still open and has the same rights."""
    sessions, cookie, principal = request.service.sessions, session_cookie(request.request), request.viewer.principal

    async def is_allowed() -> bool:
        try:
            return has_same_rights(await sessions.authenticate(cookie), principal)
        except NotAuthenticated:
            return False

    return is_allowed


async def _show_preview(request: PageRequest, order: BulkOrder, refusal: HoraeError | None = None) -> Response:
    request.viewer.principal.require_scope(scope_for(order.action))
    try:
        matched = await _match(request, order)
    except Refusal as error:
        matched, refusal = _Matched((), TaskCount(0)), refusal or error
    data: dict[str, Any] = {
        "page": "tasks",
        "order": order,
        "count": matched.size,
        "tasks": matched.tasks[:_MAX_NAMES],
        "others": matched.size.number - min(_MAX_NAMES, len(matched.tasks)),
        "must_confirm": needs_confirmation(order.action, matched.size.number),
        "is_large": matched.is_large,
        "back": request.viewer.url("/tasks", **_list_query(order)),
        "problem": None,
    }
    if refusal is not None:
        return request.render_refused("tasks_bulk.html", data, refusal)
    return request.render("tasks_bulk.html", data)


# --- operations ----------------------------------------------------------------------------------------------------


async def show_operation(request: PageRequest) -> Response:
    return await _show_operation(request)


async def _show_operation(request: PageRequest, refusal: Refusal | None = None) -> Response:
    principal = request.viewer.principal
    operation = await request.service.operations.get(principal, request.request.path_params["id"])
    may_change = scope_for(operation.action) in principal.scopes
    data = {
        "page": "tasks",
        "operation": operation,
        "is_running": operation.state is OperationState.RUNNING,
        "can_cancel": may_change,
        "can_undo": may_change and operation.can_undo(request.viewer.now),
        "problem": None,
    }
    if refusal is not None:
        return request.render_refused("operation.html", data, refusal)
    return request.render("operation.html", data)


async def cancel_operation(request: PageRequest) -> Response:
    name = request.request.path_params["id"]
    operation = await request.service.operations.cancel(request.viewer.principal, name)
    return request.redirect(f"/operations/{operation.id}", Notice(request.text("operation_cancelling")))


async def undo_operation(request: PageRequest) -> Response:
    """Restore what the operation changed; go back to the list of tasks if all of it was restored soon."""
    principal, operations = request.viewer.principal, request.service.operations
    try:
        begun = await operations.undo(principal, request.request.path_params["id"], _permission_check(request))
    except Conflict as refusal:
        return await _show_operation(request, refusal)
    undo = await operations.wait(principal, begun.id, _UNDO_SECONDS)
    if undo.state is not OperationState.FINISHED or undo.refused:
        return request.redirect(f"/operations/{undo.id}")
    query = {"q": request.form["q"]} if "q" in request.form else {}
    return request.redirect("/tasks", request.notice("bulk_undone", number=undo.done), **query)


ROUTES: Final = (
    page("/tasks/bulk", show_preview),
    form("/tasks/bulk", apply),
    page("/operations/{id}", show_operation),
    form("/operations/{id}/cancel", cancel_operation),
    form("/operations/{id}/undo", undo_operation),
)
