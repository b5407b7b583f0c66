"""Parser of PostgreSQL store URLs: driver DSN, schema, pool size and pooler options."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple, Self
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit, urlunsplit

from ...errors import Refusal
from ..masked_url import mask_url
from ..refusals import refuse

SCHEMES: Final = ("postgresql", "postgres")
DEFAULT_SCHEMA: Final = "horae"
DEFAULT_CONNECTIONS: Final = 6
_OWN_PARAMETERS: Final = ("schema", "connections", "statement_cache", "direct")
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,56}")
"""The server limits names to 63 characters, and the notification channel is "horae_" plus the schema."""
_ESCAPE_HINT: Final = "in a user name or a password, write / as %2F, ? as %3F, # as %23, [ as %5B and @ as %40"
"""Hint of a refusal. The refusal must not quote the URL, which may contain a part of the password."""


class Address(NamedTuple):
    """Parsed URL. `dsn` is for the driver; `direct` bypasses a pooler, for LISTEN, which needs a dedicated connection."""

    dsn: str
    direct_dsn: str
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
        dsn = _dsn(parts, query)
        direct = dsn
        if "direct" in own_parameters:
            direct_parts = _split(own_parameters["direct"])
            direct = _dsn(direct_parts, parse_qsl(direct_parts.query, keep_blank_values=True))
        return cls(
            dsn,
            direct,
            _schema(url, own_parameters.get("schema", DEFAULT_SCHEMA)),
            _number(url, "connections", own_parameters.get("connections", str(DEFAULT_CONNECTIONS)), least=2),
            _number(url, "statement_cache", own_parameters["statement_cache"], least=0)
            if "statement_cache" in own_parameters
            else None,
            _render_shown(parts, dict(query)),
        )

    @property
    def dump_options(self) -> list[str]:
        """How `pg_dump` reaches the server past a pooler: what the URL names, without the password."""
        parts = urlsplit(self.direct_dsn)
        query = dict(parse_qsl(parts.query))
        named = {
            "host": parts.hostname or query.get("host"),
            "port": parts.port or query.get("port"),
            "username": unquote(parts.username or "") or query.get("user"),
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


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refuse_url(url, f"its host or port cannot be understood ({_ESCAPE_HINT})") from None
    if parts.scheme not in SCHEMES or not url.partition(":")[2].startswith("//"):
        raise _refuse_url(url, "it does not begin with postgresql://")
    # Any other @ is part of an unescaped password, whose beginning would be shown as the host.
    if parts.fragment or "@" in parts.path or parts.netloc.count("@") > 1 or port == 0:
        raise _refuse_url(url, f"its host or port cannot be understood ({_ESCAPE_HINT})")
    return parts


def _dsn(parts: SplitResult, query: list[tuple[str, str]]) -> str:
    rest = "&".join(f"{quote(name)}={quote(value)}" for name, value in query if name not in _OWN_PARAMETERS)
    return urlunsplit(("postgresql", parts.netloc, parts.path, rest, ""))


def _render_shown(parts: SplitResult, query: dict[str, str]) -> str:
    host = parts.hostname or query.get("host", "localhost")
    port = parts.port or query.get("port", "5432")
    # A host with colons is an IPv6 address, written in brackets; a path is the folder of a Unix socket.
    host = f"[{host}]" if ":" in host else host
    database = parts.path.lstrip("/") or query.get("database", query.get("dbname", ""))
    return f"postgresql://{host}:{port}/{database}"


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
