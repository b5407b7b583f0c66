"""Where a PostgreSQL store is, as its URL says it."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple, Self
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit, urlunsplit

from ...errors import Refusal
from ..masked_url import masked
from ..refusals import refuse

SCHEMES: Final = ("postgresql", "postgres")
DEFAULT_SCHEMA: Final = "horae"
DEFAULT_CONNECTIONS: Final = 6
_OWN: Final = ("schema", "connections", "statement_cache", "direct")
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,56}")
"""The server takes 63 characters, and the channel on which nodes ring each other is called after it."""
_SECRETIVE: Final = "in a user name or a password, write / as %2F, ? as %3F, # as %23, [ as %5B and @ as %40"
"""Nothing of what was found is said: it may be half a password."""


class Address(NamedTuple):
    """`dsn` is for the driver. `direct` leads past a pooler, for what needs a connection of its own: being rung."""

    dsn: str
    direct: str
    schema: str = DEFAULT_SCHEMA
    connections: int = DEFAULT_CONNECTIONS
    statement_cache: int | None = None
    """How many statements a connection keeps prepared; 0 behind a pooler that gives each transaction another one."""
    shown: str = ""
    """Without a password."""

    @classmethod
    def parsed(cls, url: str) -> Self:
        parts = _split(url)
        query = parse_qsl(parts.query, keep_blank_values=True)
        own = {name: value for name, value in query if name in _OWN}
        dsn = _dsn(parts, query)
        direct = dsn
        if "direct" in own:
            direct_parts = _split(own["direct"])
            direct = _dsn(direct_parts, parse_qsl(direct_parts.query, keep_blank_values=True))
        return cls(
            dsn,
            direct,
            _schema(url, own.get("schema", DEFAULT_SCHEMA)),
            _number(url, "connections", own.get("connections", str(DEFAULT_CONNECTIONS)), least=2),
            _number(url, "statement_cache", own["statement_cache"], least=0) if "statement_cache" in own else None,
            _shown(parts, dict(query)),
        )

    @property
    def dump_options(self) -> list[str]:
        """How `pg_dump` reaches the server past a pooler: what the URL names, without the password."""
        parts = urlsplit(self.direct)
        query = dict(parse_qsl(parts.query))
        named = {
            "host": parts.hostname or query.get("host"),
            "port": parts.port or query.get("port"),
            "username": unquote(parts.username or "") or query.get("user"),
        }
        return [f"--{name}={value}" for name, value in named.items() if value]

    @property
    def is_pooled(self) -> bool:
        """Whether each transaction may meet another connection, which keeps nothing of ours."""
        return self.statement_cache == 0

    @property
    def options(self) -> dict[str, Any]:
        """What the driver is told beside the address."""
        return {} if self.statement_cache is None else {"statement_cache_size": self.statement_cache}


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad(url, f"its host or port cannot be understood ({_SECRETIVE})") from None
    if parts.scheme not in SCHEMES or not url.partition(":")[2].startswith("//"):
        raise _bad(url, "it does not begin with postgresql://")
    # An @ that stands anywhere else belongs to a password: what comes before it would be shown as a host.
    if parts.fragment or "@" in parts.path or parts.netloc.count("@") > 1 or port == 0:
        raise _bad(url, f"its host or port cannot be understood ({_SECRETIVE})")
    return parts


def _dsn(parts: SplitResult, query: list[tuple[str, str]]) -> str:
    rest = "&".join(f"{quote(name)}={quote(value)}" for name, value in query if name not in _OWN)
    return urlunsplit(("postgresql", parts.netloc, parts.path, rest, ""))


def _shown(parts: SplitResult, query: dict[str, str]) -> str:
    host = parts.hostname or query.get("host", "localhost")
    port = parts.port or query.get("port", "5432")
    # A path is the folder of a socket; what has colons is an address that stands in brackets.
    host = f"[{host}]" if ":" in host else host
    database = parts.path.lstrip("/") or query.get("database", query.get("dbname", ""))
    return f"postgresql://{host}:{port}/{database}"


def _schema(url: str, name: str) -> str:
    if not _SCHEMA.fullmatch(name):
        raise _bad(url, f"a schema is called with up to 57 small letters, digits and _, not {name!r}")
    return name


def _number(url: str, name: str, text: str, least: int) -> int:
    if not text.isdecimal() or len(text) > 4 or int(text) < least:
        raise _bad(url, f"{name} must be a whole number from {least} on, not {text!r}")
    return int(text)


def _bad(url: str, problem: str) -> Refusal:
    return refuse("bad_store_address", url=masked(url), problem=problem)
