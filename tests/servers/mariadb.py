"""Temporary MariaDB server: default durability, small buffers, on the loopback."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from tests.servers.ports import HOST
from tests.servers.server import PATIENCE, Server
from tests.servers.templates import lay_out

_SETTINGS: Final = {
    "bind-address": HOST,
    "max-connections": "200",
    "innodb-buffer-pool-size": "64M",
    # No question to a name server for each connection; and root's account for the network stays apart from the local one.
    "skip-name-resolve": "ON",
}


class MariaDBServer(Server):
    """Every client is root, unless there is a password."""

    name = "mariadb"
    daemon = "mariadbd"
    package = "mariadb-server"
    user = "mysql"
    ready = "ready for connections"

    def __init__(
        self, *, settings: Mapping[str, str] | None = None, password: str | None = None, in_memory: bool = False
    ) -> None:
        super().__init__(in_memory=in_memory)
        self._settings = {**_SETTINGS, **(settings or {})}
        self._password = password

    @property
    def url(self) -> str:
        return self.url_of("mysql")

    def url_of(self, database: str) -> str:
        secret = "" if self._password is None else f":{quote(self._password, safe='')}"
        return f"mysql://root{secret}@{HOST}:{self.port}/{database}"

    def new_database(self, *, collation: str | None = None) -> str:
        name = f"test_{secrets.token_hex(6)}"
        self.ask(f"CREATE DATABASE `{name}`" + ("" if collation is None else f" COLLATE {collation}"))
        return self.url_of(name)

    def drop_database(self, url: str) -> None:
        self.ask(f"DROP DATABASE `{urlsplit(url).path[1:]}`")

    def ask(self, sql: str, *, database: str = "mysql") -> str:
        """Run one statement over the local socket without a password; fields are separated by tabs."""
        where = ["-u", "root", "-S", str(self._socket), database]
        command = [self._program("mariadb"), "--no-defaults", "-BN", "-e", sql, *where]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert answer.returncode == 0, f"{sql}: {answer.stderr}"
        return answer.stdout.removesuffix("\n")

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _socket(self) -> Path:
        return self.folder / "socket"

    @property
    def _orders(self) -> Path:
        return self.folder / "orders.sql"

    def _lay_out(self) -> None:
        install = (
            self._program("mariadb-install-db"),
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        )
        lay_out(self.name, install, self.folder, lambda: self._prepare((*install, f"--datadir={self._data}")))
        if self._password is not None:
            quoted = self._password.replace("\\", "\\\\").replace("'", "\\'")
            self._orders.write_text(f"SET NAMES utf8mb4;\nALTER USER root@'{HOST}' IDENTIFIED BY '{quoted}';\n")

    def _command(self) -> Sequence[str]:
        places = {"port": str(self.port), "socket": str(self._socket), "pid-file": str(self.folder / "pid")}
        settings = [f"--{name}={value}" for name, value in {**self._settings, **places}.items()]
        orders = [] if self._password is None else [f"--init-file={self._orders}"]
        return [self._program("mariadbd"), "--no-defaults", f"--datadir={self._data}", *settings, *orders]
