"""Bulk actions over HTTP: arguments of the action from JSON, `Prefer: respond-async`, and the permission check of operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request

from ..errors import NotAuthenticated
from ..model.accounts.principal import Principal
from ..service.accounts.rights import has_same_rights
from ..service.tasks.operations.actions import ActionArguments, make_action
from ..service.tasks.operations.bulk import Action
from ..service.tasks.operations.undo_log import UndoLog
from ..service.tasks.operations.worker import Permission
from ..service.tasks.tasks import Tasks
from ..web.authentication import VIA, bearer_token
from ..web.request_context import app_context
from ..wire.fields import check_fields, text_or_none
from .parameters import caller_zone

RESPOND_ASYNC: Final = "respond-async"
PREFER: Final = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "`respond-async` (RFC 7240): the answer comes at once, and the work goes on as an operation.",
    "schema": {"type": "string"},
}
_ARGUMENTS: Final = ("note", "until", "zone", "missed", "number", "force", "chain")


def prefers_async(request: Request) -> bool:
    preferences = ",".join(request.headers.getlist("prefer"))
    return any(each.partition(";")[0].strip().lower() == RESPOND_ASYNC for each in preferences.split(","))


def permission_check(request: Request, principal: Principal) -> Permission:
    """Return a check for a running operation: the token is still valid and grants the same rights. Otherwise the
    operation ends."""
    tokens, text = app_context(request).service.tokens, bearer_token(request)

    async def allowed() -> bool:
        try:
            return has_same_rights(await tokens.authenticate(text, via=VIA), principal)
        except NotAuthenticated:
            return False

    return allowed


def action_of(
    request: Request, principal: Principal, tasks: Tasks, body: Mapping[str, Any], log: UndoLog | None
) -> Action:
    """Return the action for one task; what it changes is recorded in the log."""
    given = check_fields("arguments", body.get("arguments") or {}, _ARGUMENTS)
    arguments = ActionArguments(
        text_or_none("zone", given.get("zone")) or caller_zone(request, principal),
        text_or_none("note", given.get("note")) or "",
        text_or_none("until", given.get("until")),
        given.get("missed") or "skip",
        1 if given.get("number") is None else given["number"],
        given.get("force", False),
        given.get("chain", True),
    )
    return make_action(principal, tasks, body.get("action"), arguments, app_context(request).clock.now(), log)
