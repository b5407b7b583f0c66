"""Operator settings for event targets: a Redis channel and a webhook that receive events besides this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from ...outgoing.addresses import Networks, read_networks
from ...outgoing.guard import CheckedUrl, check_url
from ..setting_names import EVENT
from .refusals import refuse

_SCHEMES: Final = ("redis", "rediss", "unix")


class RedisSettings(NamedTuple):
    url: str
    channel: str


class WebhookSettings(NamedTuple):
    url: CheckedUrl
    secret: str | None
    allowed: Networks


class EventSettings(NamedTuple):
    redis: RedisSettings | None = None
    webhook: WebhookSettings | None = None


def read_settings(given: Mapping[str, Any]) -> EventSettings:
    """Check and convert the settings; None counts as not set. Raises a `Refusal`."""
    settings = {name: value for name, value in given.items() if value is not None}
    for name, value in settings.items():
        if name not in EVENT:
            raise refuse("event_setting", name=name, wanted=f"one of {', '.join(EVENT)}")
        if name != "allow_networks" and not (isinstance(value, str) and value):
            raise refuse("event_setting", name=name, wanted="a text")
    return EventSettings(_redis(settings), _webhook(settings))


def _redis(settings: Mapping[str, str]) -> RedisSettings | None:
    if not settings.keys() & {"redis", "channel"}:
        return None
    for name in ("redis", "channel"):
        if name not in settings:
            raise refuse("event_setting", name=name, wanted="both a redis URL and a channel, or neither")
    try:
        scheme = urlsplit(settings["redis"]).scheme
    except ValueError:
        scheme = ""
    if scheme not in _SCHEMES:
        raise refuse("event_setting", name="redis", wanted="a URL such as redis://localhost:6379/0")
    return RedisSettings(settings["redis"], settings["channel"])


def _webhook(settings: Mapping[str, Any]) -> WebhookSettings | None:
    if "webhook" not in settings:
        return None
    allowed = _networks(settings.get("allow_networks", ()))
    return WebhookSettings(check_url(settings["webhook"], allowed), settings.get("webhook_secret"), allowed)


def _networks(value: Any) -> Networks:
    """Parse a list, or comma-separated text as environment variables hold it."""
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple):
        raise refuse("event_setting", name="allow_networks", wanted='a list such as ["10.1.0.0/16"]')
    return read_networks(value)
