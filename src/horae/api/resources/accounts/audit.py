"""Audit trail: list its rows, and verify its hash chain."""

from __future__ import annotations

from typing import Annotated, Final

from starlette.requests import Request
from starlette.responses import Response

from ....model.accounts.principal import Principal
from ....service.accounts.audit import AuditFilter
from ....web.pagination import decode_cursor, page_response
from ....web.parameters import Query
from ....web.request_context import app_context
from ....web.responses import json_response
from ....web.routing import RouteGroup
from ....wire.accounts import audit_json, verdict_json
from ...openapi import Operation
from ...parameters import Cursor, Limit

routes: Final = RouteGroup("/v1", "audit")


Action = Annotated[str | None, Query(max_length=200, description="An action, or a group such as `task`.")]
Actor = Annotated[str | None, Query(max_length=200, description="An owner, an agent, or the id of a token or session.")]
Subject = Annotated[str | None, Query(max_length=200, description="An id or a name, or its beginning.")]


@routes.get(
    "/audit",
    Operation(
        "list_audit",
        "Who did what, newest first; a filtered page searches 1,000 rows, and may be empty and still have a next one",
        "AuditPage",
    ),
)
async def list_audit(  # noqa: PLR0913 - parameters of the query
    request: Request,
    principal: Principal,
    *,
    action: Action = None,
    actor: Actor = None,
    subject: Subject = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    after, wanted = decode_cursor(request, principal, cursor), AuditFilter(action, actor, subject)
    page = await app_context(request).service.audit.page(principal, after, limit, wanted)
    return page_response(request, principal, page, audit_json)


@routes.get("/audit/verify", Operation("verify_audit", "Whether the hash chain is intact (admins)", "AuditVerdict"))
async def verify_audit(request: Request, principal: Principal) -> Response:
    return json_response(verdict_json(await app_context(request).service.audit.verify(principal)))
