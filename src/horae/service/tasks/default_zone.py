"""Default zone for requests without one, with the reason that is reported to the caller."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from ...errors import Refusal
from ...model.accounts.principal import Principal
from ...schedule import Past, iterate
from ...schedule.any_of import parts_of
from ...schedule.text import parse_text
from ...schedule.warnings import ScheduleWarning, make_bilingual_warning

if TYPE_CHECKING:
    from ..service import Service


_TEST_ZONES: Final = ("UTC", "Asia/Kolkata")
"""Two zones in which no time of day, full or half hour is the same instant."""


class AssumedZone(NamedTuple):
    """An assumed zone; `because` completes "… is used, because …", in English and Chinese."""

    name: str
    because: tuple[str, str]

    def warning(self) -> ScheduleWarning:
        en, zh = self.because
        return make_bilingual_warning("no_zone", {"zone": self.name, "why": en}, {"zone": self.name, "why": zh})


def needs_zone(text: str, now: datetime) -> bool:
    """Whether the text names no zone and depends on one: `every day at 9am` does, `every 10s` does not."""
    first, second = (parse_text(text, zone=zone, now=now) for zone in _TEST_ZONES)
    if first.named_zone:
        return False
    fires = [
        [next(iterate(part, now, Past(anchor=now)), None) for part in parts_of(each.schedule)]
        for each in (first, second)
    ]
    return fires[0] != fires[1]


def zone_of_owner(owner: str, zone: str, *, own: bool) -> AssumedZone:
    """Return the zone with its reason. `own`: the owner is the caller."""
    if own:
        return AssumedZone(zone, ("it is yours", "这是您的默认时区"))
    return AssumedZone(zone, (f"it is the default zone of {owner}", f"这是 {owner} 的默认时区"))


def zone_of_deployment(owner: str, zone: str | None) -> AssumedZone:
    if zone is None:
        return AssumedZone("UTC", (f"neither {owner} nor this server has a zone", f"{owner} 和服务器都没有设置时区"))
    return AssumedZone(zone, (f"{owner} has none and it is this server's", f"{owner} 没有默认时区，这是服务器的时区"))


async def assumed_zone(service: Service, principal: Principal, owner: str | None = None) -> AssumedZone:
    """Return the default zone of the owner of the task, else the deployment's; `owner` None: the caller."""
    owner_name = principal.owner if owner is None else owner
    zone = principal.zone if owner_name == principal.owner else await _zone_of_account(service, principal, owner_name)
    if zone is not None:
        return zone_of_owner(owner_name, zone, own=owner_name == principal.owner)
    return zone_of_deployment(owner_name, service.zone)


async def _zone_of_account(service: Service, principal: Principal, owner: str) -> str | None:
    """Return None if there is no such account, or the caller may not see it."""
    try:
        return (await service.accounts.get(principal, owner)).zone
    except Refusal:
        return None


async def own_zone(service: Service, principal: Principal) -> str | None:
    """Return the default zone of the caller."""
    return await _zone_of_account(service, principal, principal.owner)
