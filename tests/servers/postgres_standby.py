"""Temporary PostgreSQL standby of another temporary server: streams its log, and can be promoted."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.servers.ports import HOST
from tests.servers.postgres import PostgresServer
from tests.servers.server import PATIENCE

_STREAMING: Final = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
_ANSWER_SECONDS: Final = 10


class PostgresStandby(PostgresServer):
    ready = "database system is ready to accept"
    """Read-only connections, or after a promotion all of them."""

    def __init__(self, primary: PostgresServer, *, in_memory: bool = False) -> None:
        super().__init__(in_memory=in_memory)
        self._primary = primary

    def promote(self) -> None:
        """Make it the primary; returns when it takes writes."""
        command = [self._program("pg_ctl"), "promote", "-D", str(self._data), "-w", "-t", str(int(PATIENCE))]
        with (self.folder / "promote.log").open("wb") as log:
            assert self._run(command, log).wait() == 0, (self.folder / "promote.log").read_text()

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _lay_out(self) -> None:
        copy = (self._program("pg_basebackup"), "-R", "-X", "stream", "-c", "fast", "-D", str(self._data))
        self._prepare((*copy, "-h", HOST, "-p", str(self._primary.port), "-U", "postgres"))


def require_synchronous_standby(primary: PostgresServer) -> None:
    """Have each commit wait for the standby, and wait until the standby counts as synchronous."""
    primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
    primary.ask("SELECT pg_reload_conf()")
    _wait_for(primary, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")


def wait_for_standby(primary: PostgresServer) -> None:
    _wait_for(primary, _STREAMING)


def _wait_for(primary: PostgresServer, condition: str) -> None:
    from tests.faults.testbed import wait_until  # noqa: PLC0415 - the servers are used without the fault tests too

    wait_until(lambda: primary.ask(condition) == "1", _ANSWER_SECONDS, condition)
