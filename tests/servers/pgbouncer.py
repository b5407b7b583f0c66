"""PgBouncer in transaction mode before a temporary PostgreSQL server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.servers.ports import HOST, with_port
from tests.servers.postgres import PostgresServer
from tests.servers.server import Server


class PgBouncer(Server):
    """Each transaction of a client may use another of `pool_size` connections."""

    name = "pgbouncer"
    daemon = "pgbouncer"
    package = "pgbouncer"
    user = "postgres"
    ready = "process up: PgBouncer"

    def __init__(self, server: PostgresServer, *, pool_size: int = 20) -> None:
        super().__init__()
        self._server = server
        self._pool_size = pool_size

    def through(self, url: str) -> str:
        """Return the address of the same database through the pooler."""
        return with_port(url, self.port)

    def _lay_out(self) -> None:
        settings = {
            "listen_addr": HOST,
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": "transaction",
            "default_pool_size": self._pool_size,
            "max_client_conn": 500,
        }
        lines = [f"{name} = {value}" for name, value in settings.items()]
        # The local socket needs no password.
        databases = f"* = host={self._server.folder} port={self._server.port} user=postgres"
        self._settings_path.write_text("\n".join(["[databases]", databases, "[pgbouncer]", *lines, ""]))

    @property
    def _settings_path(self) -> Path:
        return self.folder / "pgbouncer.ini"

    def _command(self) -> Sequence[str]:
        return [self._program("pgbouncer"), str(self._settings_path)]
