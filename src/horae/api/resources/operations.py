"""Bulk operations: progress and cancellation."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...service.tasks.operations import scope_for
from ...web.authentication import Who
from ...web.idempotency import Ids, repeatable
from ...web.language import language
from ...web.pagination import page_answer, read_cursor
from ...web.request_context import house_of
from ...web.responses import answer
from ...web.routers import resource
from ...wire.operations import operation_json
from ..openapi import told
from ..parameters import Cursor, DryRun, Limit, acting

router: Final = resource("/v1/operations", "operations")

OperationId = Annotated[str, Path(max_length=200, description="The id of an operation: `opn_…`.")]


@router.get("", **told("list_operations", "Operations, newest first; kept for seven days", "OperationPage"))
async def list_operations(request: Request, principal: Who, *, limit: Limit = 50, cursor: Cursor = None) -> Response:
    lang = language(request)
    page = await house_of(request).service.operations.page(principal, read_cursor(request, principal, cursor), limit)
    return page_answer(request, principal, page, lambda operation: operation_json(operation, lang))


@router.get("/{operation_id}", **told("get_operation", "Progress of an operation", "Operation", problems=(404,)))
async def get_operation(request: Request, principal: Who, operation_id: OperationId) -> Response:
    operation = await house_of(request).service.operations.get(principal, operation_id)
    return answer(operation_json(operation, language(request)))


async def _replay_operation(request: Request, principal: Principal, _ids: Ids) -> Response:
    operation = await house_of(request).service.operations.get(principal, request.path_params["operation_id"])
    principal.require_scope(scope_for(operation.action))
    return answer(operation_json(operation, language(request)), 202)


@router.post(
    "/{operation_id}/cancel",
    **told(
        "cancel_operation",
        "Cancel an operation after its current task; changed tasks stay changed",
        "Operation",
        status=202,
        problems=(404, 409),
        idempotent=True,
    ),
)
@repeatable(None, _replay_operation)
async def cancel_operation(
    request: Request, principal: Who, operation_id: OperationId, *, dry_run: DryRun = False
) -> Response:
    operation = await acting(request, dry_run=dry_run).operations.cancel(principal, operation_id)
    return answer(operation_json(operation, language(request)), 202)
