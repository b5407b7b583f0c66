"""Frozen settings, read once: flag, then environment, then what the machine says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Origin = Literal["flag", "environment", "machine", "nowhere"]

_ZONE_VARIABLES = ("HORAE_ZONE", "TIMEZONE", "TZ")


@dataclass(frozen=True, slots=True)
class DefaultZone:
    """The zone that counts where a schedule names none, and where it came from: it is never assumed silently."""

    name: str
    origin: Origin
    source: str


def default_zone(
    flag: str | None, environment: Mapping[str, str], localtime: Path = Path("/etc/localtime")
) -> DefaultZone:
    if flag:
        return DefaultZone(flag, "flag", "--zone")
    for variable in _ZONE_VARIABLES:
        value = environment.get(variable, "").strip().removeprefix(":")
        named = value.partition("/zoneinfo/")[2] if value.startswith("/") else value
        if named:
            return DefaultZone(named.removeprefix("posix/"), "environment", variable)
    machine = _machine_zone(localtime)
    if machine is not None:
        return DefaultZone("UTC" if machine == "Etc/UTC" else machine, "machine", str(localtime))
    return DefaultZone("UTC", "nowhere", "")


def _machine_zone(localtime: Path) -> str | None:
    """Most systems link their local time to a file of the zone's name."""
    if not localtime.is_symlink():
        return None
    _, found, name = str(localtime.resolve()).partition("/zoneinfo/")
    return name.removeprefix("posix/") if found else None


def precise_wake(environment: Mapping[str, str]) -> bool:
    """Sleep to the head of the queue, or poll plainly: `HORAE_WAKE`, or the older name for the same choice."""
    chosen = environment.get("HORAE_WAKE", "").strip().lower()
    if chosen:
        return chosen != "poll"
    return environment.get("USE_PRIORITY_QUEUE_SCHEDULER", "").strip().lower() not in ("false", "0", "no", "off")
