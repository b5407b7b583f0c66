"""Audit trail: list its rows, and verify its hash chain."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ...web.authentication import Caller
from ...web.pagination import page_response, read_cursor
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routers import resource_router
from ...wire.accounts import audit_json, verdict_json
from ..openapi import describe_operation
from ..parameters import Cursor, Limit

router: Final = resource_router("/v1", "audit")


@router.get("/audit", **describe_operation("list_audit", "Who did what, newest first", "AuditPage"))
async def list_audit(request: Request, principal: Caller, *, limit: Limit = 50, cursor: Cursor = None) -> Response:
    page = await app_context(request).service.audit.page(principal, read_cursor(request, principal, cursor), limit)
    return page_response(request, principal, page, audit_json)


@router.get(
    "/audit/verify", **describe_operation("verify_audit", "Whether the hash chain is intact (admins)", "AuditVerdict")
)
async def verify_audit(request: Request, principal: Caller) -> Response:
    return json_response(verdict_json(await app_context(request).service.audit.verify(principal)))
