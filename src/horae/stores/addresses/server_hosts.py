"""Hosts of a store URL: one host, or several of which one at a time takes writes (`a:5432,b:5433,[::1]`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

_HOST: Final = re.compile(r"(?P<name>\[[0-9A-Fa-f:.%\w]+\]|[^\[\]:]*)(?::(?P<port>[0-9]{0,5}))?", re.ASCII)
_PARTS: Final = re.compile(r"(?P<scheme>[^:/?#]*)://(?P<netloc>[^/?#]*)(?P<rest>.*)", re.DOTALL)
MAX_HOSTS: Final = 16


class UnreadableHostError(ValueError):
    """The part of a URL that names the hosts cannot be understood. The message quotes nothing of the URL."""


class ServerHost(NamedTuple):
    """One host as the URL spells it. An empty name and a missing port stand for the driver's defaults."""

    name: str = ""
    port: int | None = None

    @property
    def netloc(self) -> str:
        """The host as part of a URL."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port is None else f"{name}:{self.port}"

    def display(self, default_port: int) -> str:
        """The host in lower case, with its port, for messages."""
        name = self.name.lower() or "localhost"
        return f"{f'[{name}]' if ':' in name else name}:{self.port or default_port}"


class ServerURL(NamedTuple):
    """Parts of a store URL whose network location may name several hosts, which `urlsplit` refuses."""

    scheme: str
    login: str
    """User and password as they are spelled, without the `@`; empty if there is none."""
    hosts: tuple[ServerHost, ...]
    path: str
    query: str

    @property
    def netloc_login(self) -> str:
        return f"{self.login}@" if self.login else ""


def split_server_url(url: str) -> ServerURL:
    """Split a URL of the form `scheme://login@host:port,host:port/path?query`; raises UnreadableHostError."""
    match = _PARTS.fullmatch(url)
    if match is None:
        raise UnreadableHostError("it has no // after its scheme")
    parts = urlsplit(f"//{match['rest']}")
    login, _, places = match["netloc"].rpartition("@")
    # Any other @ is part of an unescaped password, whose beginning would be shown as the host.
    if parts.fragment or "#" in match["rest"] or "@" in parts.path or "@" in login:
        raise UnreadableHostError("its host or port cannot be understood")
    if any(sign in login for sign in "[]"):
        raise UnreadableHostError("its host or port cannot be understood")
    return ServerURL(match["scheme"].lower(), login, parse_hosts(places), parts.path, parts.query)


def parse_hosts(places: str) -> tuple[ServerHost, ...]:
    """Parse `host:port,host:port`; the empty text is one host, the driver's default."""
    hosts = tuple(_parse_host(place) for place in places.split(","))
    return check_hosts(hosts)


def check_hosts(hosts: Sequence[ServerHost]) -> tuple[ServerHost, ...]:
    """Return the hosts, or refuse a list with an empty member, with one host twice, or with too many."""
    if len(hosts) > 1 and any(not host.name for host in hosts):
        raise UnreadableHostError("one of its hosts is empty: between two commas there must be a name")
    if len(set(hosts)) < len(hosts):
        raise UnreadableHostError("it names one host twice")
    if len(hosts) > MAX_HOSTS:
        raise UnreadableHostError(f"it names more than {MAX_HOSTS} hosts")
    return tuple(hosts)


def _parse_host(place: str) -> ServerHost:
    match = _HOST.fullmatch(place)
    if match is None:
        raise UnreadableHostError("its host or port cannot be understood")
    name, port = match["name"], match["port"]
    if name.startswith("["):
        name = name[1:-1]
        if ":" not in name:
            raise UnreadableHostError("its host or port cannot be understood")
    number = int(port) if port else None
    if number is not None and not 0 < number < 65_536:
        raise UnreadableHostError("its host or port cannot be understood: a port is a number from 1 to 65535")
    return ServerHost(name, number)
