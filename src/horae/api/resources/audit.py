"""Audit trail: list its rows, and verify its hash chain."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...web.pagination import decode_cursor, page_response
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.accounts import audit_json, verdict_json
from ..openapi import Operation
from ..parameters import Cursor, Limit

routes: Final = RouteGroup("/v1", "audit")


@routes.get("/audit", Operation("list_audit", "Who did what, newest first", "AuditPage"))
async def list_audit(request: Request, principal: Principal, *, limit: Limit = 50, cursor: Cursor = None) -> Response:
    page = await app_context(request).service.audit.page(principal, decode_cursor(request, principal, cursor), limit)
    return page_response(request, principal, page, audit_json)


@routes.get("/audit/verify", Operation("verify_audit", "Whether the hash chain is intact (admins)", "AuditVerdict"))
async def verify_audit(request: Request, principal: Principal) -> Response:
    return json_response(verdict_json(await app_context(request).service.audit.verify(principal)))
