"""What an operator may set for all http targets of a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...outgoing.addresses import Networks, read_networks
from ...outgoing.client import CONNECT_WITHIN
from ...outgoing.guard import parse_url
from ...outgoing.headers import check_headers
from ...version import __version__
from ..setting_names import HTTP
from .refusals import refuse

_LONGEST_CONNECT: Final = 300.0
_SHORTEST_KEY: Final = 16


class Callback(NamedTuple):
    """Where somebody who went on with a run says how it ended, and the key of the tokens for that."""

    url: str
    key: str


class HttpSettings(NamedTuple):
    """`default_agent` and `mode` are for the preset `orchestrator`, where a payload says nothing else."""

    allowed: Networks = ()
    callback: Callback | None = None
    connect_within: float = CONNECT_WITHIN
    default_agent: str = "attendance"
    mode: str = "hybrid"
    user_agent: str = f"Horae/{__version__}"


def read_settings(given: Mapping[str, Any]) -> HttpSettings:
    """None counts as not set."""
    settings = {name: value for name, value in given.items() if value is not None}
    for name in settings:
        if name not in HTTP:
            raise refuse("http_unknown_setting", name=name, allowed=", ".join(HTTP))
    usual = HttpSettings()
    return HttpSettings(
        allowed=_networks(settings.get("allow_networks", ())),
        callback=_callback(settings),
        connect_within=_seconds(settings.get("connect_timeout", usual.connect_within)),
        default_agent=_text(settings, "default_agent", usual.default_agent),
        mode=_text(settings, "mode", usual.mode),
        user_agent=check_headers({"User-Agent": _text(settings, "user_agent", usual.user_agent)})[0][1],
    )


def _networks(value: Any) -> Networks:
    """A list; or one text with commas, as environments have it."""
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
        return None  # the key is the deployment's: a node has it, who only looks at a task's target has not
    key = settings["callback_key"]
    if not isinstance(key, str) or len(key) < _SHORTEST_KEY:
        raise refuse("http_bad_setting", name="callback_key", wanted=f"a text of at least {_SHORTEST_KEY} characters")
    return Callback(url.text.rstrip("/"), key)


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = 0.0
    if isinstance(value, bool) or not 0 < seconds <= _LONGEST_CONNECT:
        wanted = f"seconds, above 0 and at most {_LONGEST_CONNECT:g}"
        raise refuse("http_bad_setting", name="connect_timeout", wanted=wanted)
    return seconds


def _text(settings: Mapping[str, Any], name: str, usual: str) -> str:
    value = settings.get(name, usual)
    if not isinstance(value, str) or not value.strip():
        raise refuse("http_bad_setting", name=name, wanted="a text")
    return value
