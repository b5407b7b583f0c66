"""Bulk actions on tasks: parses the action and its arguments, `Prefer: respond-async`, and the permission check of
operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request

from ..errors import NotAuthenticated
from ..lifecycle.control import MAX_SKIPS
from ..model.accounts.principal import Principal
from ..model.field_checks import check_number
from ..model.policy import MISSED_MODES
from ..model.refusals import refuse
from ..model.task import Task
from ..schedule.zones import find_zone
from ..service.query.instants import parse_future_instant
from ..service.tasks.bulk import Action
from ..service.tasks.operation_worker import Permission
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
_ARGUMENTS: Final = ("note", "until", "zone", "missed", "number")


def prefers_async(request: Request) -> bool:
    preferences = ",".join(request.headers.getlist("prefer"))
    return any(each.partition(";")[0].strip().lower() == RESPOND_ASYNC for each in preferences.split(","))


def permission_check(request: Request, principal: Principal) -> Permission:
    """Return a check for a running operation: the token is still valid and grants the same rights. Otherwise the
    operation ends."""
    tokens, text = app_context(request).service.tokens, bearer_token(request)

    async def allowed() -> bool:
        try:
            current = await tokens.authenticate(text, via=VIA)
        except NotAuthenticated:
            return False
        return (current.owner, current.owner_filter, current.agent, current.scopes) == (
            principal.owner,
            principal.owner_filter,
            principal.agent,
            principal.scopes,
        )

    return allowed


def action_of(request: Request, principal: Principal, tasks: Tasks, body: Mapping[str, Any]) -> Action:
    """Return the action for one task. Arguments are checked here once, so that a bad one is not refused for each task."""
    arguments = check_fields("arguments", body.get("arguments") or {}, _ARGUMENTS)
    note, mode = text_or_none("note", arguments.get("note")) or "", _missed_mode(arguments)
    until = text_or_none("until", arguments.get("until"))
    default_zone = text_or_none("zone", arguments.get("zone")) or caller_zone(request, principal)
    find_zone(default_zone)
    number = 1 if arguments.get("number") is None else arguments["number"]
    check_number("number", number, 0, MAX_SKIPS)
    now = app_context(request).clock.now()
    if until is not None:
        parse_future_instant(until, default_zone, now)

    def pause(task: Task) -> Any:
        end = None if until is None else parse_future_instant(until, task.schedule.zone or default_zone, now)
        return tasks.pause(principal, task.id, note=note, until=end)

    actions: dict[str, Action] = {
        "pause": pause,
        "resume": lambda task: tasks.resume(principal, task.id, mode),
        "run": lambda task: tasks.run_now(principal, task.id),
        "skip": lambda task: tasks.skip_next(principal, task.id, number),
        "cancel": lambda task: tasks.cancel(principal, task.id),
        "delete": lambda task: tasks.delete(principal, task.id),
    }
    action = body.get("action")
    if not isinstance(action, str) or action not in actions:
        raise refuse("bad_choice", name="action", value=action, allowed=", ".join(actions))
    return actions[action]


def _missed_mode(arguments: Mapping[str, Any]) -> Any:
    mode = arguments.get("missed") or "skip"
    if mode not in MISSED_MODES:
        raise refuse("bad_choice", name="arguments.missed", value=mode, allowed=", ".join(MISSED_MODES))
    return mode
