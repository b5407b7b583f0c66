"""What is done to each of many tasks, whether it may go on after the answer, and whether whoever asked still may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request

from ..errors import NotAuthenticated
from ..lifecycle.control import MOST_SKIPS
from ..model.accounts.principal import Principal
from ..model.field_checks import check_number
from ..model.policy import MISSED_MODES
from ..model.refusals import refuse
from ..model.task import Task
from ..schedule.zones import find_zone
from ..service.query.instants import coming_moment
from ..service.tasks.bulk import Action
from ..service.tasks.operation_worker import Permission
from ..service.tasks.tasks import Tasks
from ..web.authentication import VIA, bearer
from ..web.request_context import house_of
from ..wire.fields import check_fields, text_or_none
from .parameters import zone_of

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
    said = ",".join(request.headers.getlist("prefer"))
    return any(each.partition(";")[0].strip().lower() == RESPOND_ASYNC for each in said.split(","))


def still_allowed(request: Request, who: Principal) -> Permission:
    """A token that is no longer valid, or lets its bearer do something else, ends what was begun with it."""
    tokens, text = house_of(request).service.tokens, bearer(request)

    async def allowed() -> bool:
        try:
            now = await tokens.authenticate(text, via=VIA)
        except NotAuthenticated:
            return False
        return (now.owner, now.scope, now.agent, now.scopes) == (who.owner, who.scope, who.agent, who.scopes)

    return allowed


def deed_of(request: Request, who: Principal, tasks: Tasks, said: Mapping[str, Any]) -> Action:
    """All that can be wrong with it whatever the task is refused here, and not once for each."""
    arguments = check_fields("arguments", said.get("arguments") or {}, _ARGUMENTS)
    note, mode = text_or_none("note", arguments.get("note")) or "", _mode(arguments)
    until = text_or_none("until", arguments.get("until"))
    home = text_or_none("zone", arguments.get("zone")) or zone_of(request, who)
    find_zone(home)
    number = 1 if arguments.get("number") is None else arguments["number"]
    check_number("number", number, 0, MOST_SKIPS)
    now = house_of(request).clock.now()
    if until is not None:
        coming_moment(until, home, now)

    def pause(task: Task) -> Any:
        end = None if until is None else coming_moment(until, task.schedule.zone or home, now)
        return tasks.pause(who, task.id, note=note, until=end)

    deeds: dict[str, Action] = {
        "pause": pause,
        "resume": lambda task: tasks.resume(who, task.id, mode),
        "run": lambda task: tasks.run_now(who, task.id),
        "skip": lambda task: tasks.skip_next(who, task.id, number),
        "cancel": lambda task: tasks.cancel(who, task.id),
        "delete": lambda task: tasks.delete(who, task.id),
    }
    action = said.get("action")
    if not isinstance(action, str) or action not in deeds:
        raise refuse("bad_choice", name="action", value=action, allowed=", ".join(deeds))
    return deeds[action]


def _mode(arguments: Mapping[str, Any]) -> Any:
    mode = arguments.get("missed") or "skip"
    if mode not in MISSED_MODES:
        raise refuse("bad_choice", name="arguments.missed", value=mode, allowed=", ".join(MISSED_MODES))
    return mode
