"""Audit trail: list its rows, and verify its hash chain."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ...web.authentication import Who
from ...web.pagination import page_answer, read_cursor
from ...web.request_context import house_of
from ...web.responses import answer
from ...web.routers import resource
from ...wire.accounts import audit_json, verdict_json
from ..openapi import told
from ..parameters import Cursor, Limit

router: Final = resource("/v1", "audit")


@router.get("/audit", **told("list_audit", "Who did what, newest first", "AuditPage"))
async def list_audit(request: Request, principal: Who, *, limit: Limit = 50, cursor: Cursor = None) -> Response:
    page = await house_of(request).service.audit.page(principal, read_cursor(request, principal, cursor), limit)
    return page_answer(request, principal, page, audit_json)


@router.get("/audit/verify", **told("verify_audit", "Whether the hash chain is intact (admins)", "AuditVerdict"))
async def verify_audit(request: Request, principal: Who) -> Response:
    return answer(verdict_json(await house_of(request).service.audit.verify(principal)))
