"""Operator settings for stations, the table `[targets.station]`: addresses, directory of the keys, time limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

from .refusals import refuse

DEFAULT_LISTEN: Final = "tcp://127.0.0.1:4674"
DEFAULT_PUBLISH: Final = "tcp://127.0.0.1:4675"
_ADDRESS: Final = re.compile(r"tcp://(?P<host>\*|\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(?P<port>\d{1,5}|\*)")
_SECONDS: Final = {
    "heartbeat": (0.05, 60.0),
    "liveness": (0.1, 600.0),
    "worker_wait": (0.0, 600.0),
    "answer_timeout": (0.1, 600.0),
}
_FLAGS: Final = ("enabled", "plain")
_TEXTS: Final = ("listen", "publish", "directory")
_TRUE: Final = ("on", "true", "yes", "1")
_FALSE: Final = ("off", "false", "no", "0", "")


class StationSettings(NamedTuple):
    enabled: bool = False
    listen: str = DEFAULT_LISTEN
    publish: str = DEFAULT_PUBLISH
    directory: str | None = None
    """Has the key file of the node."""
    plain: bool = False
    """Without CURVE; on loopback addresses only."""
    heartbeat: float = 2.0
    liveness: float = 6.0
    worker_wait: float = 5.0
    """How long a call waits for a first worker to join."""
    answer_timeout: float = 10.0
    """How long a worker may take to say that it has received a call."""


def read_settings(given: Mapping[str, Any]) -> StationSettings:
    """Check and convert the settings; None counts as not set. Raises a `Refusal`."""
    values: dict[str, Any] = {}
    for name, value in given.items():
        if value is not None:
            values[name] = _read(name, value)
    settings = StationSettings(**values)
    if settings.plain:
        for address in (settings.listen, settings.publish):
            if not is_loopback(address):
                raise refuse("station_plain", value=address)
    if settings.liveness < 2 * settings.heartbeat:
        raise refuse("station_setting", name="liveness", wanted="at least twice the heartbeat")
    return settings


def is_loopback(address: str) -> bool:
    match = _ADDRESS.fullmatch(address)
    host = "" if match is None else match["host"].strip("[]")
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _read(name: str, value: Any) -> Any:
    if name in _FLAGS:
        return _read_flag(name, value)
    if name in _SECONDS:
        return _read_seconds(name, value)
    if name not in _TEXTS:
        allowed = ", ".join((*_FLAGS, *_TEXTS, *_SECONDS))
        raise refuse("station_setting", name=name, wanted=f"one of {allowed}")
    if not isinstance(value, str) or not value:
        raise refuse("station_setting", name=name, wanted="a text")
    if name != "directory":
        match = _ADDRESS.fullmatch(value)
        if match is None or (match["port"] != "*" and int(match["port"]) > 65_535):
            raise refuse("station_setting", name=name, wanted=f"an address such as {DEFAULT_LISTEN}")
    return value


def _read_flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in (*_TRUE, *_FALSE):
        raise refuse("station_setting", name=name, wanted="true or false")
    return text in _TRUE


def _read_seconds(name: str, value: Any) -> float:
    least, most = _SECONDS[name]
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if isinstance(value, bool) or not least <= seconds <= most:
        raise refuse("station_setting", name=name, wanted=f"seconds between {least:g} and {most:g}")
    return seconds
