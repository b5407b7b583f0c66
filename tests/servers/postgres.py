"""Temporary PostgreSQL server: default durability, small buffers, on the loopback."""

from __future__ import annotations

import secrets
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from tests.servers.ports import HOST
from tests.servers.server import PATIENCE, Server
from tests.servers.templates import lay_out

AWKWARD_PASSWORD: Final = "p@ss:w/r d?#%&+=é"  # noqa: S105 - test password
"""Password whose every character has a meaning in an address."""
_SETTINGS: Final = {"listen_addresses": HOST, "max_connections": "200", "shared_buffers": "64MB"}


class PostgresServer(Server):
    """Every client is accepted, unless `auth` names a password method."""

    name = "postgres"
    daemon = "postgres"
    package = "postgresql"
    user = "postgres"
    ready = "database system is ready to accept connections"
    gentle = signal.SIGINT

    def __init__(
        self,
        *,
        settings: Mapping[str, str] | None = None,
        auth: str = "trust",
        password: str = AWKWARD_PASSWORD,
        in_memory: bool = False,
    ) -> None:
        super().__init__(in_memory=in_memory)
        self._settings = {**_SETTINGS, **(settings or {})}
        self._auth = auth
        self._password = password

    @property
    def url(self) -> str:
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        secret = "" if self._auth == "trust" else f":{quote(self._password, safe='')}"
        return f"postgresql://postgres{secret}@{HOST}:{self.port}/{database}"

    def new_database(self, *, icu_locale: str | None = None) -> str:
        """Create an empty database; `icu_locale` (`en-US`) selects its collation, by default byte order."""
        name = f"test_{secrets.token_hex(6)}"
        rules = "" if icu_locale is None else f"LOCALE_PROVIDER icu ICU_LOCALE '{icu_locale}' LOCALE 'C'"
        self.ask(f'CREATE DATABASE "{name}" TEMPLATE template0 {rules}')
        return self.url_of(name)

    def drop_database(self, url: str) -> None:
        """Drop a database, also while clients are connected."""
        self.ask(f'DROP DATABASE "{urlsplit(url).path[1:]}" WITH (FORCE)')

    def ask(self, sql: str, *, database: str = "postgres") -> str:
        """Run one statement over the local socket without a password; fields are separated by bars."""
        where = ["-h", str(self.folder), "-p", str(self.port), "-U", "postgres", "-d", database]
        command = [self._program("psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", *where, "-c", sql]
        # The administrator may write even if the server is read-only by default.
        environment = {"LC_ALL": "C", "PGOPTIONS": "-c default_transaction_read_only=off"}
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=False)
        assert answer.returncode == 0, f"{sql}: {answer.stderr}"
        return answer.stdout.removesuffix("\n")

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _lay_out(self) -> None:
        initdb = (self._program("initdb"), "-N", "-U", "postgres", "-E", "UTF8", "--no-locale", "-A", "trust")
        place = ("-D", str(self._data))
        if self._auth == "trust":
            lay_out(self.name, initdb, self.folder, lambda: self._prepare((*initdb, *place)))
        else:
            secret = self.folder / "password"
            secret.write_text(f"{self._password}\n")
            self._prepare((*initdb, *place, f"--auth-host={self._auth}", f"--pwfile={secret}"))

    def _command(self) -> Sequence[str]:
        places = {"port": str(self.port), "unix_socket_directories": str(self.folder)}
        settings = [f"--{name}={value}" for name, value in {**self._settings, **places}.items()]
        return [self._program("postgres"), "-D", str(self._data), *settings]
