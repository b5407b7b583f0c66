"""Operator settings for http targets: allowed networks, callback URL and key, connect timeout, user agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...outgoing.addresses import Networks, read_networks
from ...outgoing.client import CONNECT_TIMEOUT
from ...outgoing.guard import parse_url
from ...outgoing.headers import check_headers
from ...version import __version__
from ..setting_names import HTTP
from .refusals import refuse

_MAX_CONNECT_SECONDS: Final = 300.0
_MIN_KEY_LENGTH: Final = 16


class Callback(NamedTuple):
    """Base URL to which endpoints report the end of a run that they continue, and the key of the callback tokens."""

    url: str
    key: str


class HttpSettings(NamedTuple):
    """`default_agent` and `mode` are defaults of the preset `orchestrator`."""

    allowed_networks: Networks = ()
    callback: Callback | None = None
    connect_timeout: float = CONNECT_TIMEOUT
    default_agent: str = "attendance"
    mode: str = "hybrid"
    user_agent: str = f"Horae/{__version__}"


def read_settings(given: Mapping[str, Any]) -> HttpSettings:
    """Check and convert the settings; None counts as not set. Raises a `Refusal`."""
    settings = {name: value for name, value in given.items() if value is not None}
    for name in settings:
        if name not in HTTP:
            raise refuse("http_unknown_setting", name=name, allowed=", ".join(HTTP))
    defaults = HttpSettings()
    return HttpSettings(
        allowed_networks=_networks(settings.get("allow_networks", ())),
        callback=_callback(settings),
        connect_timeout=_seconds(settings.get("connect_timeout", defaults.connect_timeout)),
        default_agent=_text(settings, "default_agent", defaults.default_agent),
        mode=_text(settings, "mode", defaults.mode),
        user_agent=check_headers({"User-Agent": _text(settings, "user_agent", defaults.user_agent)})[0][1],
    )


def _networks(value: Any) -> Networks:
    """Parse a list, or comma-separated text as environment variables hold it."""
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple):
        raise refuse("http_bad_setting", name="allow_networks", wanted='a list such as ["10.1.0.0/16"]')
    return read_networks(value)


def _callback(settings: Mapping[str, Any]) -> Callback | None:
    if "callback_url" not in settings:
        return None
    url = parse_url(settings["callback_url"])
    if "?" in url.target:
        raise refuse("http_bad_setting", name="callback_url", wanted="a URL without a query")
    if "callback_key" not in settings:
        return None  # only a node has the deployment's key; a process that only checks specs has not
    key = settings["callback_key"]
    if not isinstance(key, str) or len(key) < _MIN_KEY_LENGTH:
        raise refuse("http_bad_setting", name="callback_key", wanted=f"a text of at least {_MIN_KEY_LENGTH} characters")
    return Callback(url.text.rstrip("/"), key)


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = 0.0
    if isinstance(value, bool) or not 0 < seconds <= _MAX_CONNECT_SECONDS:
        wanted = f"seconds, above 0 and at most {_MAX_CONNECT_SECONDS:g}"
        raise refuse("http_bad_setting", name="connect_timeout", wanted=wanted)
    return seconds


def _text(settings: Mapping[str, Any], name: str, default: str) -> str:
    value = settings.get(name, default)
    if not isinstance(value, str) or not value.strip():
        raise refuse("http_bad_setting", name=name, wanted="a text")
    return value
