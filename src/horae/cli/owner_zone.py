"""The default zone of an owner, which counts before the zone of this process, as at the HTTP API and over MCP."""

from __future__ import annotations

from ..errors import Refusal
from ..service.assumed_zone import AssumedZone, zone_of_owner
from .workplace import Workplace


async def owner_zone(app: Workplace, owner: str | None = None) -> AssumedZone | None:
    """`owner` None: the one who asks. None where the owner has no zone, or may not be looked at."""
    own = await app.owner()
    name = own if owner is None else owner
    try:
        zone = (await app.service.accounts.get(app.who, name)).zone
    except Refusal:
        return None
    return None if zone is None else zone_of_owner(name, zone, own=name == own)
