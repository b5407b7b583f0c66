"""Parser of Redis store URLs: one server, a Sentinel set or a cluster; login, database, key prefix, pool size and TLS."""

from __future__ import annotations

import os
import re
from typing import Any, Final, Literal, NamedTuple, Self
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ....errors import Refusal
from ...addresses.masked_url import mask_url
from ...refusals import refuse

Layout = Literal["server", "sentinel", "cluster"]

DEFAULT_PORT: Final = 6379
DEFAULT_SENTINEL_PORT: Final = 26379
DEFAULT_PREFIX: Final = "horae"
DEFAULT_CONNECTIONS: Final = 8
TLS_MODES: Final = ("required", "verify-ca", "verify-identity")
_SCHEMES: Final[dict[str, Layout]] = {
    "redis": "server",
    "rediss": "server",
    "redis+sentinel": "sentinel",
    "rediss+sentinel": "sentinel",
    "redis+cluster": "cluster",
    "rediss+cluster": "cluster",
}
SCHEMES: Final = tuple(_SCHEMES)
_PASSWORD_VARIABLE: Final = "REDISCLI_AUTH"  # noqa: S105 - the name of a variable, which redis-cli reads too
_SENTINEL_PASSWORD: Final = "sentinel-password"  # noqa: S105 - the name of a parameter
_TLS_PARAMETERS: Final = frozenset({"ssl-mode", "ssl-ca", "ssl-cert", "ssl-key"})
_WAIT_REPLICAS: Final = "wait_replicas"
_PARAMETERS: Final = frozenset({"prefix", "connections", _SENTINEL_PASSWORD, _WAIT_REPLICAS}) | _TLS_PARAMETERS
_PREFIX: Final = re.compile(r"[A-Za-z0-9_.-]{1,32}")
_MAX_DATABASE: Final = 99_999
_ESCAPE_HINT: Final = "in a user name or a password, write / as %2F, ? as %3F, # as %23, [ as %5B and @ as %40"
"""Hint of a refusal. The refusal must not quote the URL, which may contain a part of the password."""


class Place(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class TLSOptions(NamedTuple):
    """`mode` is one of `TLS_MODES`: `required` accepts any certificate, `verify-identity` checks the host name too."""

    mode: str = "verify-identity"
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None

    @property
    def driver_options(self) -> dict[str, Any]:
        return {
            "ssl": True,
            "ssl_cert_reqs": "none" if self.mode == "required" else "required",
            "ssl_check_hostname": self.mode == "verify-identity",
            "ssl_ca_certs": self.ca_file,
            "ssl_certfile": self.certificate_file,
            "ssl_keyfile": self.key_file,
        }


class Address(NamedTuple):
    """Parsed URL. `prefix` is the hash tag of every key, so that the store can share a database with other programs."""

    layout: Layout
    places: tuple[Place, ...]
    user: str | None = None
    password: str | None = None
    database: int = 0
    service: str = ""
    """Name of the primary in a Sentinel set."""
    prefix: str = DEFAULT_PREFIX
    connections: int = DEFAULT_CONNECTIONS
    tls: TLSOptions | None = None
    sentinel_password: str | None = None
    wait_replicas: int = 0
    """Number of replicas that must have a commit before it counts."""

    @classmethod
    def parse(cls, url: str) -> Self:
        parts = _split(url)
        layout = _SCHEMES[parts.scheme]
        parameters = _options(url, parts)
        login, _, hosts = parts.netloc.rpartition("@")
        user, has_password, password = login.partition(":")
        service, database = _path(url, layout, parts.path)
        return cls(
            layout,
            _places(url, hosts, DEFAULT_SENTINEL_PORT if layout == "sentinel" else DEFAULT_PORT),
            unquote(user) or None,
            unquote(password) if has_password else os.environ.get(_PASSWORD_VARIABLE),
            database,
            service,
            _prefix(url, parameters.get("prefix", DEFAULT_PREFIX)),
            _connections(url, parameters.get("connections", str(DEFAULT_CONNECTIONS))),
            _encryption(url, parts.scheme, parameters),
            _sentinel_password(url, layout, parameters),
            _wait_replicas(url, layout, parameters.get(_WAIT_REPLICAS, "0")),
        )

    @property
    def display_url(self) -> str:
        """The URL without credentials and parameters, for messages."""
        scheme = next(
            scheme
            for scheme, layout in _SCHEMES.items()
            if layout == self.layout and scheme.startswith("rediss") == (self.tls is not None)
        )
        service = f"/{self.service}" if self.service else ""
        return f"{scheme}://{','.join(map(str, self.places))}{service}/{self.database}"

    @property
    def login_options(self) -> dict[str, Any]:
        """Keyword arguments for the driver: user, password and TLS."""
        tls = {} if self.tls is None else self.tls.driver_options
        return {"username": self.user, "password": self.password, **tls}


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _refuse_url(url, f"its host or port cannot be understood ({_ESCAPE_HINT})") from None
    if parts.scheme not in _SCHEMES:
        raise _refuse_url(url, "it does not begin with redis://, rediss://, redis+sentinel:// or redis+cluster://")
    # Any other @ is part of an unescaped password, whose beginning would be shown as the host.
    if parts.fragment or "@" in parts.path + parts.query or parts.netloc.count("@") > 1:
        raise _refuse_url(url, f"its host or port cannot be understood ({_ESCAPE_HINT})")
    return parts


def _places(url: str, hosts: str, default_port: int) -> tuple[Place, ...]:
    places = []
    for each in hosts.split(","):
        try:
            one = urlsplit(f"//{each}")
            port = one.port
        except ValueError:
            raise _refuse_url(url, f"its host or port cannot be understood ({_ESCAPE_HINT})") from None
        if port == 0 or (not one.hostname and "," in hosts):
            raise _refuse_url(url, f"its host or port cannot be understood ({_ESCAPE_HINT})")
        places.append(Place(one.hostname or "localhost", port or default_port))
    return tuple(places)


def _path(url: str, layout: Layout, path: str) -> tuple[str, int]:
    """Return the name of the Sentinel service, and the number of the database."""
    parts = [unquote(part) for part in path.split("/") if part]
    if layout == "sentinel":
        if not parts or not parts[0].isprintable():
            raise _refuse_url(url, "it does not name the service, as redis+sentinel://host:26379/mymaster/0 does")
        service, *parts = parts
    else:
        service = ""
    if len(parts) > 1 or not all(part.isascii() and part.isdecimal() for part in parts):
        raise _refuse_url(url, "the database must be a number, as in redis://host:6379/0")
    database = int(parts[0]) if parts else 0
    if database > (0 if layout == "cluster" else _MAX_DATABASE):
        problem = (
            "a cluster has the database 0 alone" if layout == "cluster" else "there is no database with this number"
        )
        raise _refuse_url(url, problem)
    return service, database


def _options(url: str, parts: SplitResult) -> dict[str, str]:
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(parameters.keys() - _PARAMETERS)
    if unknown:
        raise _refuse_url(url, f"{unknown[0]!r} is none of {', '.join(sorted(_PARAMETERS))}")
    return parameters


def _prefix(url: str, text: str) -> str:
    if not _PREFIX.fullmatch(text):
        raise _refuse_url(url, f"a prefix has up to 32 letters, digits, dots, - and _, not {text!r}")
    return text


def _connections(url: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 2 or len(text) > 4:
        raise _refuse_url(url, f"connections must be a whole number from 2 on, not {text!r}")
    return int(text)


def _encryption(url: str, scheme: str, parameters: dict[str, str]) -> TLSOptions | None:
    if not scheme.startswith("rediss"):
        if _TLS_PARAMETERS & parameters.keys():
            raise _refuse_url(url, "TLS options need an address that begins with rediss")
        return None
    mode = parameters.get("ssl-mode", "verify-identity").lower().replace("_", "-")
    if mode not in TLS_MODES:
        raise _refuse_url(url, f"ssl-mode must be one of {', '.join(TLS_MODES)}, not {mode!r}")
    return TLSOptions(mode, parameters.get("ssl-ca"), parameters.get("ssl-cert"), parameters.get("ssl-key"))


def _sentinel_password(url: str, layout: Layout, parameters: dict[str, str]) -> str | None:
    if layout != "sentinel" and _SENTINEL_PASSWORD in parameters:
        raise _refuse_url(url, f"{_SENTINEL_PASSWORD} needs an address that begins with redis+sentinel://")
    return parameters.get(_SENTINEL_PASSWORD)


def _wait_replicas(url: str, layout: Layout, text: str) -> int:
    if not text.isdecimal() or len(text) > 1:
        raise _refuse_url(url, f"{_WAIT_REPLICAS} must be a whole number from 0 to 9, not {text!r}")
    if layout == "cluster" and text != "0":
        raise _refuse_url(url, f"{_WAIT_REPLICAS} needs one server or a Sentinel set, not a cluster")
    return int(text)


def _refuse_url(url: str, problem: str) -> Refusal:
    return refuse("bad_store_address", url=mask_url(url), problem=problem)
