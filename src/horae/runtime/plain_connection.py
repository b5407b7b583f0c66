"""Detects database connections over a network without TLS from the store's URL, and logs a warning."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from ..stores.addresses.server_hosts import UnreadableHostError, split_server_url

LOG: Final = logging.getLogger("horae")
_MYSQL: Final = ("mysql", "mariadb")
_POSTGRES: Final = ("postgresql", "postgres")
_REDIS: Final = ("redis", "redis+sentinel", "redis+cluster")
_PLAIN_MODES: Final = ("disable", "allow")
"""Modes of PostgreSQL without TLS. The default, `prefer`, uses TLS wherever the server offers it."""


class PlainConnection(NamedTuple):
    """`option` is what to add to the store's URL for TLS with a verified server: a parameter, or another scheme."""

    host: str
    option: str


def plain_connection(url: str, environment: Mapping[str, str] = os.environ) -> PlainConnection | None:
    """Return the unencrypted connection of this URL; None for a store on this machine, and for one with TLS."""
    if url.partition(":")[0] in _REDIS:
        return _plain_redis(url)
    try:
        parts = split_server_url(url)
    except UnreadableHostError:
        return None
    query = dict(parse_qsl(parts.query))
    names = [host.name.lower() for host in parts.hosts if host.name]
    host = next((name for name in names if not _is_loopback(name)), None)
    if host is None:
        return None
    if parts.scheme in _MYSQL and "socket" not in query:
        mode = query.get("ssl-mode", "disabled").lower()
        return PlainConnection(host, "ssl-mode=verify-identity") if mode == "disabled" else None
    if parts.scheme in _POSTGRES:
        mode = query.get("sslmode") or environment.get("PGSSLMODE") or "prefer"
        return PlainConnection(host, "sslmode=verify-full") if mode in _PLAIN_MODES else None
    return None


def _plain_redis(url: str) -> PlainConnection | None:
    """Return the first host of a Redis address that is on another machine."""
    netloc = url.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]
    hosts = [urlsplit(f"//{place}").hostname or "localhost" for place in netloc.split(",")]
    remote = next((host for host in hosts if not _is_loopback(host)), None)
    return (
        None if remote is None else PlainConnection(remote, url.partition("://")[0].replace("redis", "rediss") + "://")
    )


def warn_about_plain_connection(url: str) -> None:
    connection = plain_connection(url)
    if connection is not None:
        LOG.warning(
            "the connection to %s is not encrypted: passwords and payloads can be read on the way; put %s into the "
            "address of the store",
            *connection,
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
