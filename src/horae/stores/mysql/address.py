"""Where a MySQL or MariaDB store is, as its URL says it."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple, Self
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ...errors import Refusal
from ..masked_url import masked
from ..refusals import refuse
from .tls import MODES, Encryption

SCHEMES: Final = ("mysql", "mariadb")
DEFAULT_PREFIX: Final = "horae_"
DEFAULT_CONNECTIONS: Final = 6
DEFAULT_PORT: Final = 3306
_KNOWN: Final = frozenset({"prefix", "connections", "socket", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key"})
_PREFIX: Final = re.compile(r"[a-z_][a-z0-9_]{0,31}")
_SECRETIVE: Final = "in a user name or a password, write / as %2F, ? as %3F, # as %23, [ as %5B and @ as %40"
"""Nothing of what was found is said: it may be half a password."""


class Address(NamedTuple):
    """`prefix` is how the names of all our tables begin: the database may be an application's own."""

    host: str
    port: int
    user: str
    password: str
    database: str
    prefix: str = DEFAULT_PREFIX
    connections: int = DEFAULT_CONNECTIONS
    socket: str | None = None
    encryption: Encryption = Encryption()

    @classmethod
    def parsed(cls, url: str) -> Self:
        parts, port = _split(url)
        said = _options(url, parts)
        return cls(
            parts.hostname or "localhost",
            port or DEFAULT_PORT,
            unquote(parts.username or "root"),
            unquote(parts.password or ""),
            _database(url, unquote(parts.path[1:])),
            _prefix(url, said.get("prefix", DEFAULT_PREFIX)),
            _connections(url, said.get("connections", str(DEFAULT_CONNECTIONS))),
            said.get("socket"),
            _encryption(url, said),
        )

    @property
    def dump_options(self) -> list[str]:
        """How `mariadb-dump` and `mysqldump` reach the server, without the password: they ask for it."""
        place = [f"--host={self.host}", f"--port={self.port}"] if self.socket is None else [f"--socket={self.socket}"]
        return [*place, f"--user={self.user}", *(["--password"] if self.password else [])]

    @property
    def shown(self) -> str:
        """Without a password."""
        return f"mysql://{self.host}:{self.port}/{self.database}"

    @property
    def options(self) -> dict[str, Any]:
        """What the driver is told. The password as bytes: of a text it would make Latin-1."""
        where = {"host": self.host, "port": self.port, "user": self.user, "password": self.password.encode()}
        return {**where, "database": self.database, "unix_socket": self.socket, "ssl": self.encryption.context()}


def _split(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad(url, f"its host or port cannot be understood ({_SECRETIVE})") from None
    if parts.scheme not in SCHEMES:
        raise _bad(url, "it does not begin with mysql:// or mariadb://")
    # An @ that stands anywhere else belongs to a password: what comes before it would be shown as a host.
    if parts.fragment or "@" in parts.path + parts.query or parts.netloc.count("@") > 1 or port == 0:
        raise _bad(url, f"its host or port cannot be understood ({_SECRETIVE})")
    return parts, port


def _options(url: str, parts: SplitResult) -> dict[str, str]:
    said = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(said.keys() - _KNOWN)
    if unknown:
        raise _bad(url, f"{unknown[0]!r} is none of {', '.join(sorted(_KNOWN))}")
    return said


def _database(url: str, name: str) -> str:
    if not name or "/" in name or not name.isprintable():
        raise _bad(url, "it names no database")
    return name


def _prefix(url: str, text: str) -> str:
    if not _PREFIX.fullmatch(text):
        raise _bad(url, f"a prefix has small letters, digits and _, not {text!r}")
    return text


def _connections(url: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 2 or len(text) > 4:
        raise _bad(url, f"connections must be a whole number from 2 on, not {text!r}")
    return int(text)


def _encryption(url: str, said: dict[str, str]) -> Encryption:
    mode = said.get("ssl-mode", "disabled").lower().replace("_", "-")
    if mode not in MODES:
        raise _bad(url, f"ssl-mode must be one of {', '.join(MODES)}, not {mode!r}")
    found = Encryption(mode, said.get("ssl-ca"), said.get("ssl-cert"), said.get("ssl-key"))
    if mode == "disabled" and found != Encryption():
        raise _bad(url, "certificates are of use only with an ssl-mode")
    return found


def _bad(url: str, problem: str) -> Refusal:
    return refuse("bad_store_address", url=masked(url), problem=problem)
