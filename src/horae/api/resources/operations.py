"""Bulk operations: progress and cancellation."""

from __future__ import annotations

from typing import Annotated, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal, Scope
from ...service.tasks.operations.operations import scope_for
from ...web.idempotency import Ids, idempotent, store_ids
from ...web.language import request_language
from ...web.pagination import decode_cursor, page_response
from ...web.parameters import Path
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.operations import operation_json
from ...wire.overview import bulk_json
from ..bulk_actions import permission_check
from ..openapi import Operation
from ..parameters import Cursor, DryRun, Limit, service_for

routes: Final = RouteGroup("/v1/operations", "operations")

OperationId = Annotated[str, Path(max_length=200, description="The id of an operation: `opn_…`.")]


@routes.get("", Operation("list_operations", "Operations, newest first; kept for seven days", "OperationPage"))
async def list_operations(
    request: Request, principal: Principal, *, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    lang = request_language(request)
    page = await app_context(request).service.operations.page(
        principal, decode_cursor(request, principal, cursor), limit
    )
    return page_response(request, principal, page, lambda operation: operation_json(operation, lang))


@routes.get("/{operation_id}", Operation("get_operation", "Progress of an operation", "Operation", problems=(404,)))
async def get_operation(request: Request, principal: Principal, operation_id: OperationId) -> Response:
    operation = await app_context(request).service.operations.get(principal, operation_id)
    return json_response(operation_json(operation, request_language(request)))


async def _replay_operation(request: Request, principal: Principal, _ids: Ids) -> Response:
    operation = await app_context(request).service.operations.get(principal, request.path_params["operation_id"])
    principal.require_scope(scope_for(operation.action))
    return json_response(operation_json(operation, request_language(request)), 202)


@routes.post(
    "/{operation_id}/cancel",
    Operation(
        "cancel_operation",
        "Cancel an operation after its current task; changed tasks stay changed",
        "Operation",
        status=202,
        problems=(404, 409),
    ),
)
@idempotent(None, _replay_operation)
async def cancel_operation(
    request: Request, principal: Principal, operation_id: OperationId, *, dry_run: DryRun = False
) -> Response:
    operation = await service_for(request, dry_run=dry_run).operations.cancel(principal, operation_id)
    return json_response(operation_json(operation, request_language(request)), 202)


async def _replay_undo(request: Request, principal: Principal, ids: Ids) -> Response:
    operation = await app_context(request).service.operations.get(principal, ids["operation"])
    return json_response(
        operation_json(operation, request_language(request)), 202, {"Location": f"/v1/operations/{operation.id}"}
    )


@routes.post(
    "/{operation_id}/undo",
    Operation(
        "undo_operation",
        "Undo a bulk pause, resume or cancel: each task that it changed is as it was before",
        "Operation",
        status=202,
        also={200: "BulkReport"},
        problems=(404, 409),
        description="The undo is an operation of its own (`Location`). It leaves a task alone that was changed since, and lists "
        "it in `refusals`. Possible once, in the 15 minutes after the end (`undo_until`); an undo that was cancelled or "
        "interrupted can be repeated, for the rest. A dry run is answered at once, with the number of tasks that would be restored.",
    ),
)
@idempotent(Scope.WRITE, _replay_undo)
async def undo_operation(
    request: Request, principal: Principal, operation_id: OperationId, *, dry_run: DryRun = False
) -> Response:
    service = app_context(request).service
    if dry_run:
        report = await service.operations.preview_undo(principal, operation_id)
        return json_response({**bulk_json(report, request_language(request)), "dry_run": True})
    operation = await service.operations.undo(principal, operation_id, permission_check(request, principal))
    store_ids(request, operation=operation.id)
    headers = {"Location": f"/v1/operations/{operation.id}"}
    return json_response(operation_json(operation, request_language(request)), 202, headers)
