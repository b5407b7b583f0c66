"""Default zone of an owner, which takes precedence over the zone of this process, as in the HTTP API and MCP."""

from __future__ import annotations

from ...errors import Refusal
from ...service.tasks.default_zone import AssumedZone, needs_zone, zone_of_owner
from ...service.tasks.task_request import TaskRequest
from ..schedule_question import zone_of_process
from .command_session import CommandSession
from .open_store import process_zone, settings_of


async def owner_zone(app: CommandSession, owner: str | None = None) -> AssumedZone | None:
    """Return the zone of an owner (None: of the caller); None if it has none, or may not be read."""
    own = await app.owner()
    name = own if owner is None else owner
    try:
        zone = (await app.service.accounts.get(app.principal, name)).zone
    except Refusal:
        return None
    return None if zone is None else zone_of_owner(name, zone, own=name == own)


async def with_assumed_zone(app: CommandSession, request: TaskRequest) -> tuple[TaskRequest, AssumedZone | None]:
    """Return the request with the zone of its owner, else of this process, if neither the request nor its function names
    one. The zone is returned too if the schedule's instants depend on it."""
    if (await app.resolve(request)).request.zone is not None:
        return request, None
    assumed = await owner_zone(app, request.owner) or zone_of_process(process_zone(None, settings_of(None)))
    depends = isinstance(request.when, str) and needs_zone(request.when, app.clock.now())
    return request._replace(zone=assumed.name), assumed if depends else None
