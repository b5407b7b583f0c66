"""Parser of PostgreSQL store URLs: driver DSN, schema, pool size and pooler options."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple, Self
from urllib.parse import parse_qsl, quote, unquote

from ...errors import Refusal
from ..addresses.masked_url import mask_url
from ..addresses.server_hosts import (
    ServerHost,
    ServerURL,
    UnreadableHostError,
    check_hosts,
    parse_hosts,
    split_server_url,
)
from ..refusals import refuse

SCHEMES: Final = ("postgresql", "postgres")
DEFAULT_SCHEMA: Final = "horae"
DEFAULT_CONNECTIONS: Final = 6
DEFAULT_PORT: Final = 5432
_OWN_PARAMETERS: Final = ("schema", "connections", "statement_cache", "direct", "target_session_attrs")
_WRITABLE: Final = ("read-write", "primary")
_TARGETS: Final = ("any", *_WRITABLE)
"""Values of `target_session_attrs` with which a store can work: the others ask for a server that takes no writes."""
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,56}")
"""The server limits names to 63 characters, and the notification channel is "horae_" plus the schema."""
_ESCAPE_HINT: Final = "in a user name or a password, write / as %2F, ? as %3F, # as %23, [ as %5B and @ as %40"
"""Hint of a refusal. The refusal must not quote the URL, which may contain a part of the password."""


class Servers(NamedTuple):
    """The servers of one URL: a DSN for each host, in the order of the URL."""

    dsns: tuple[str, ...]
    hosts: tuple[ServerHost, ...]
    is_writable_required: bool = False
    """Whether a server that takes no writes is passed over: set by `target_session_attrs`, and wherever there are several."""

    @property
    def names(self) -> list[str]:
        """Hosts with their ports, for messages."""
        return [host.display(DEFAULT_PORT) for host in self.hosts]


class Address(NamedTuple):
    """Parsed URL. `servers` is for the driver; `direct` bypasses a pooler, for LISTEN, which needs a dedicated connection."""

    servers: Servers
    direct: Servers
    schema: str = DEFAULT_SCHEMA
    connections: int = DEFAULT_CONNECTIONS
    statement_cache: int | None = None
    """Number of prepared statements per connection; 0 behind a transaction pooler."""
    display_url: str = ""
    """The URL without credentials, for messages."""

    @classmethod
    def parse(cls, url: str) -> Self:
        parts = _split(url)
        query = parse_qsl(parts.query, keep_blank_values=True)
        own_parameters = {name: value for name, value in query if name in _OWN_PARAMETERS}
        servers = _servers(url, parts, query)
        direct = servers
        if "direct" in own_parameters:
            direct_url = own_parameters["direct"]
            direct_parts = _split(direct_url)
            direct = _servers(direct_url, direct_parts, parse_qsl(direct_parts.query, keep_blank_values=True))
        return cls(
            servers,
            direct,
            _schema(url, own_parameters.get("schema", DEFAULT_SCHEMA)),
            _number(url, "connections", own_parameters.get("connections", str(DEFAULT_CONNECTIONS)), least=2),
            _number(url, "statement_cache", own_parameters["statement_cache"], least=0)
            if "statement_cache" in own_parameters
            else None,
            _render_shown(servers, parts, dict(query)),
        )

    @property
    def dump_options(self) -> list[str]:
        """How `pg_dump` reaches the server past a pooler: what the URL names, without the password."""
        parts = split_server_url(self.direct.dsns[0])
        query = dict(parse_qsl(parts.query))
        hosts = self.direct.hosts
        named = {
            "host": ",".join(host.name for host in hosts) or query.get("host"),
            "port": _ports(hosts) or query.get("port"),
            "username": unquote(parts.login.partition(":")[0]) or query.get("user"),
        }
        return [f"--{name}={value}" for name, value in named.items() if value]

    @property
    def is_pooled(self) -> bool:
        """Whether a pooler may give each transaction another server connection, so that session state is lost."""
        return self.statement_cache == 0

    @property
    def driver_options(self) -> dict[str, Any]:
        """Further keyword arguments for the driver."""
        return {} if self.statement_cache is None else {"statement_cache_size": self.statement_cache}


def lookup_name(host: ServerHost) -> str | None:
    """Return the name that the driver will look up; None for a socket, or for a host that another setting names."""
    return None if not host.name or "%2f" in host.name.lower() else unquote(host.name)


def _split(url: str) -> ServerURL:
    try:
        parts = split_server_url(url)
    except UnreadableHostError as error:
        if url.partition(":")[0] in SCHEMES and url.partition(":")[2].startswith("//"):
            raise _refuse_url(url, f"{error} ({_ESCAPE_HINT})") from None
        raise _refuse_url(url, "it does not begin with postgresql://") from None
    if parts.scheme not in SCHEMES:
        raise _refuse_url(url, "it does not begin with postgresql://")
    return parts


def _servers(url: str, parts: ServerURL, query: list[tuple[str, str]]) -> Servers:
    parameters = dict(query)
    target = parameters.get("target_session_attrs")
    if target is not None and target not in _TARGETS:
        problem = f"target_session_attrs must be one of {', '.join(_TARGETS)}: a store needs a server that takes writes"
        raise _refuse_url(url, problem)
    own: tuple[str, ...] = _OWN_PARAMETERS
    hosts = parts.hosts
    if hosts == (ServerHost(),) and "," in parameters.get("host", ""):
        hosts, own = _query_hosts(url, parameters), (*own, "host", "port")
    rest = "&".join(f"{quote(name)}={quote(value)}" for name, value in query if name not in own)
    dsns = tuple(
        f"postgresql://{parts.netloc_login}{host.netloc}{parts.path}{f'?{rest}' if rest else ''}" for host in hosts
    )
    if target == "any" and len(hosts) > 1:
        problem = "of several hosts one takes writes: write target_session_attrs=read-write, or leave it out"
        raise _refuse_url(url, problem)
    return Servers(dsns, hosts, target in _WRITABLE or len(hosts) > 1)


def _query_hosts(url: str, parameters: dict[str, str]) -> tuple[ServerHost, ...]:
    """Return the hosts of `?host=a,b&port=5432,5433`; one port counts for all of them."""
    names, ports = parameters["host"].split(","), parameters.get("port", "").split(",")
    if len(ports) not in (1, len(names)):
        raise _refuse_url(url, f"it names {len(names)} hosts and {len(ports)} ports")
    ports = ports * len(names) if len(ports) == 1 else ports
    if any(name.startswith("/") for name in names):
        # A folder of a socket, which is a host with a percent sign in a URL.
        names = [quote(name, safe="") if name.startswith("/") else name for name in names]
    try:
        return check_hosts(
            [
                parse_hosts((f"[{name}]" if ":" in name else name) + (f":{port}" if port else ""))[0]
                for name, port in zip(names, ports, strict=True)
            ]
        )
    except UnreadableHostError as error:
        raise _refuse_url(url, f"{error}") from None


def _ports(hosts: tuple[ServerHost, ...]) -> str:
    """Return the ports for `pg_dump`: one of each host, or nothing where all have the default."""
    return ",".join(str(host.port or DEFAULT_PORT) for host in hosts) if any(host.port for host in hosts) else ""


def _render_shown(servers: Servers, parts: ServerURL, query: dict[str, str]) -> str:
    if servers.hosts == (ServerHost(),):
        # A path is the folder of a Unix socket.
        places = f"{query.get('host', 'localhost')}:{query.get('port', DEFAULT_PORT)}"
    else:
        places = ",".join(servers.names)
    database = parts.path.lstrip("/") or query.get("database", query.get("dbname", ""))
    return f"postgresql://{places}/{database}"


def _schema(url: str, name: str) -> str:
    if not _SCHEMA.fullmatch(name):
        raise _refuse_url(url, f"a schema name has up to 57 lowercase letters, digits and _, not {name!r}")
    return name


def _number(url: str, name: str, text: str, least: int) -> int:
    if not text.isdecimal() or len(text) > 4 or int(text) < least:
        raise _refuse_url(url, f"{name} must be a whole number from {least} on, not {text!r}")
    return int(text)


def _refuse_url(url: str, problem: str) -> Refusal:
    return refuse("bad_store_address", url=mask_url(url), problem=problem)
