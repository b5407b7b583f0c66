"""Parser of MySQL and MariaDB store URLs: host, login, database, table prefix, pool size and TLS options."""

from __future__ import annotations

import os
import re
import ssl
from typing import Any, Final, NamedTuple, Self
from urllib.parse import parse_qsl, unquote

from ...errors import Refusal
from ..addresses.masked_url import mask_url
from ..addresses.server_hosts import ServerURL, UnreadableHostError, split_server_url
from ..refusals import refuse

SCHEMES: Final = ("mysql", "mariadb")
DEFAULT_PREFIX: Final = "horae_"
DEFAULT_CONNECTIONS: Final = 6
DEFAULT_PORT: Final = 3306
_PASSWORD_VARIABLE: Final = "MYSQL_PWD"  # noqa: S105 - the name of a variable, which the clients of MySQL read too
_PARAMETERS: Final = frozenset({"prefix", "connections", "socket", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key"})
_PREFIX: Final = re.compile(r"[a-z_][a-z0-9_]{0,31}")
_ESCAPE_HINT: Final = "in a user name or a password, write / as %2F, ? as %3F, # as %23, [ as %5B and @ as %40"
"""Hint of a refusal. The refusal must not quote the URL, which may contain a part of the password."""
TLS_MODES: Final = ("disabled", "required", "verify-ca", "verify-identity")


class TLSOptions(NamedTuple):
    """`mode` is the server's ssl-mode: `required` accepts any certificate, `verify-identity` checks the host name too."""

    mode: str = "disabled"
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None

    def make_context(self) -> ssl.SSLContext | None:
        """Return the SSL context, None if TLS is disabled. Raises OSError for a file that cannot be read."""
        if self.mode == "disabled":
            return None
        context = ssl.create_default_context(cafile=self.ca_file)
        context.check_hostname = self.mode == "verify-identity"
        if self.mode == "required":
            context.verify_mode = ssl.CERT_NONE
        if self.certificate_file is not None:
            context.load_cert_chain(self.certificate_file, self.key_file)
        return context


class Address(NamedTuple):
    """Parsed URL. `prefix` begins the name of every table, so that the store can share an application's database."""

    hosts: tuple[tuple[str, int], ...]
    """Names and ports. Of several hosts, one at a time takes the store's writes."""
    user: str
    password: str
    database: str
    prefix: str = DEFAULT_PREFIX
    connections: int = DEFAULT_CONNECTIONS
    socket: str | None = None
    tls: TLSOptions = TLSOptions()

    @classmethod
    def parse(cls, url: str) -> Self:
        parts = _split(url)
        parameters = _options(url, parts)
        user, has_password, password = parts.login.partition(":")
        if len(parts.hosts) > 1 and "socket" in parameters:
            raise _refuse_url(url, "it names several hosts and a socket, which belongs to one")
        return cls(
            tuple((host.name.lower() or "localhost", host.port or DEFAULT_PORT) for host in parts.hosts),
            unquote(user or "root"),
            unquote(password) if has_password else os.environ.get(_PASSWORD_VARIABLE, ""),
            _database(url, unquote(parts.path[1:])),
            _prefix(url, parameters.get("prefix", DEFAULT_PREFIX)),
            _connections(url, parameters.get("connections", str(DEFAULT_CONNECTIONS))),
            parameters.get("socket"),
            _encryption(url, parameters),
        )

    @property
    def dump_options(self) -> list[str]:
        """How `mariadb-dump` and `mysqldump` reach the server, without the password: they ask for it."""
        host, port = self.hosts[0]
        place = [f"--host={host}", f"--port={port}"] if self.socket is None else [f"--socket={self.socket}"]
        return [*place, f"--user={self.user}", *(["--password"] if self.password else [])]

    @property
    def display_url(self) -> str:
        """The URL without credentials, for messages."""
        return f"mysql://{','.join(self.names)}/{self.database}"

    @property
    def names(self) -> list[str]:
        """Hosts with their ports, for messages."""
        return [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts]

    def driver_options(self, server: int = 0) -> dict[str, Any]:
        """Return keyword arguments for the driver, for the host with this index.

        The password is passed as UTF-8 bytes: the driver encodes text as Latin-1.
        """
        host, port = self.hosts[server]
        login = {"host": host, "port": port, "user": self.user, "password": self.password.encode()}
        return {**login, "database": self.database, "unix_socket": self.socket, "ssl": self.tls.make_context()}


def _split(url: str) -> ServerURL:
    try:
        parts = split_server_url(url)
    except UnreadableHostError as error:
        raise _refuse_url(url, f"{error} ({_ESCAPE_HINT})") from None
    if parts.scheme not in SCHEMES:
        raise _refuse_url(url, "it does not begin with mysql:// or mariadb://")
    if "@" in parts.query:
        raise _refuse_url(url, f"its host or port cannot be understood ({_ESCAPE_HINT})")
    return parts


def _options(url: str, parts: ServerURL) -> dict[str, str]:
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(parameters.keys() - _PARAMETERS)
    if unknown:
        raise _refuse_url(url, f"{unknown[0]!r} is none of {', '.join(sorted(_PARAMETERS))}")
    return parameters


def _database(url: str, name: str) -> str:
    if not name or "/" in name or not name.isprintable():
        raise _refuse_url(url, "it names no database")
    return name


def _prefix(url: str, text: str) -> str:
    if not _PREFIX.fullmatch(text):
        raise _refuse_url(url, f"a prefix has lowercase letters, digits and _, not {text!r}")
    return text


def _connections(url: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 2 or len(text) > 4:
        raise _refuse_url(url, f"connections must be a whole number from 2 on, not {text!r}")
    return int(text)


def _encryption(url: str, parameters: dict[str, str]) -> TLSOptions:
    mode = parameters.get("ssl-mode", "disabled").lower().replace("_", "-")
    if mode not in TLS_MODES:
        raise _refuse_url(url, f"ssl-mode must be one of {', '.join(TLS_MODES)}, not {mode!r}")
    encryption = TLSOptions(mode, parameters.get("ssl-ca"), parameters.get("ssl-cert"), parameters.get("ssl-key"))
    if mode == "disabled" and encryption != TLSOptions():
        raise _refuse_url(url, "certificates are of use only with an ssl-mode")
    return encryption


def _refuse_url(url: str, problem: str) -> Refusal:
    return refuse("bad_store_address", url=mask_url(url), problem=problem)
