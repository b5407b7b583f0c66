"""Detects database connections over a network without TLS from the store's URL, and logs a warning."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

LOG: Final = logging.getLogger("horae")
_MYSQL: Final = ("mysql", "mariadb")
_POSTGRES: Final = ("postgresql", "postgres")
_PLAIN_MODES: Final = ("disable", "allow")
"""Modes of PostgreSQL without TLS. The default, `prefer`, uses TLS wherever the server offers it."""


class PlainConnection(NamedTuple):
    """`option` is the parameter to add to the store's URL for TLS with a verified server."""

    host: str
    option: str


def plain_connection(url: str, environment: Mapping[str, str] = os.environ) -> PlainConnection | None:
    """Return the unencrypted connection of this URL; None for a store on this machine, and for one with TLS."""
    try:
        parts = urlsplit(url)
        host, query = parts.hostname, dict(parse_qsl(parts.query))
    except ValueError:
        return None
    if host is None or _is_loopback(host):
        return None
    if parts.scheme in _MYSQL and "socket" not in query:
        mode = query.get("ssl-mode", "disabled").lower()
        return PlainConnection(host, "ssl-mode=verify-identity") if mode == "disabled" else None
    if parts.scheme in _POSTGRES:
        mode = query.get("sslmode") or environment.get("PGSSLMODE") or "prefer"
        return PlainConnection(host, "sslmode=verify-full") if mode in _PLAIN_MODES else None
    return None


def warn_about_plain_connection(url: str) -> None:
    connection = plain_connection(url)
    if connection is not None:
        LOG.warning(
            "the connection to %s is not encrypted: passwords and payloads can be read on the way; add %s to the address "
            "of the store",
            *connection,
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
