"""The default zone of an owner, which counts before the zone of this process, as at the HTTP API and over MCP."""

from __future__ import annotations

from ...errors import Refusal
from ...service.tasks.default_zone import AssumedZone, needs_zone, zone_of_owner
from ...service.tasks.task_request import TaskRequest
from ..schedule_question import zone_of_process
from .command_session import CommandSession
from .open_store import process_zone, settings_of


async def owner_zone(app: CommandSession, owner: str | None = None) -> AssumedZone | None:
    """`owner` None: the one who asks. None where the owner has no zone, or may not be looked at."""
    own = await app.owner()
    name = own if owner is None else owner
    try:
        zone = (await app.service.accounts.get(app.principal, name)).zone
    except Refusal:
        return None
    return None if zone is None else zone_of_owner(name, zone, own=name == own)


async def with_assumed_zone(app: CommandSession, wish: TaskRequest) -> tuple[TaskRequest, AssumedZone | None]:
    """The wish with the zone that `horae add` would take where neither the wish nor its function names one: that of its
    owner, else that of this process. The zone is returned too where the schedule means other instants in another one."""
    if (await app.resolve(wish)).request.zone is not None:
        return wish, None
    assumed = await owner_zone(app, wish.owner) or zone_of_process(process_zone(None, settings_of(None)))
    told = isinstance(wish.when, str) and needs_zone(wish.when, app.clock.now())
    return wish._replace(zone=assumed.name), assumed if told else None
