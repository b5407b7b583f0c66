"""Temporary PostgreSQL cluster under Patroni: two members with synchronous replication, and etcd for their election."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.servers import process_tree
from tests.servers.ports import HOST, ReservedPort
from tests.servers.programs import program
from tests.servers.server import PATIENCE, Server

MEMBERS: Final = 2
TTL_SECONDS: Final = 20
"""Shortest time that Patroni accepts after which a leader that is silent is replaced."""
_LOOP_SECONDS: Final = 1
_RETRY_SECONDS: Final = 3
_ANSWER_SECONDS: Final = 2.0


class EtcdServer(Server):
    name = "etcd"
    daemon = "etcd"
    package = "etcd-server"
    user = "postgres"
    ready = "ready to serve client requests"

    def __init__(self) -> None:
        super().__init__(in_memory=True)
        self._peer_port = ReservedPort()

    def stop(self) -> None:
        super().stop()
        self._peer_port.release()

    def _lay_out(self) -> None:
        """Etcd creates its folder."""

    def _command(self) -> Sequence[str]:
        client, peer = f"http://{HOST}:{self.port}", f"http://{HOST}:{self._peer_port.number}"
        return [
            self._program("etcd"),
            f"--data-dir={self.folder / 'data'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
        ]


class PatroniMember(Server):
    """Patroni and the PostgreSQL server that it runs, on its own port. `port` is that of Patroni's HTTP API."""

    name = "patroni"
    daemon = "patroni"
    package = "patroni"
    user = "postgres"
    ready = " INFO: "

    def __init__(self, number: int, etcd: EtcdServer) -> None:
        super().__init__(in_memory=True)
        self.member = f"member{number}"
        self._etcd = etcd
        self._postgres_port = ReservedPort()

    @property
    def postgres_port(self) -> int:
        return self._postgres_port.number

    def kill_postgres(self) -> None:
        """Send SIGKILL to the database server alone; Patroni notices."""
        with suppress(FileNotFoundError, IndexError):
            process_tree.kill(int((self._data / "postmaster.pid").read_text().split()[0]))

    def kill(self) -> None:
        """Kill Patroni and the server, as if the machine had lost its power."""
        super().kill()
        self.kill_postgres()

    def stop(self) -> None:
        if self._folder is not None:
            self.kill()
        super().stop()
        self._postgres_port.release()

    def status(self) -> dict[str, Any]:
        """Return what Patroni says of its member; nothing while it does not answer."""
        with (
            suppress(OSError, ValueError),
            urllib.request.urlopen(f"http://{HOST}:{self.port}/patroni", timeout=_ANSWER_SECONDS) as answer,
        ):
            found: dict[str, Any] = json.load(answer)
            return found
        return {}

    def ask(self, sql: str) -> str:
        """Run one statement at this member; empty where it does not answer."""
        where = ["-h", str(self.folder), "-p", str(self.postgres_port), "-U", "postgres", "-d", "postgres"]
        command = [program("psql", package="postgresql-client"), "-XAtq", *where, "-c", sql]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False).stdout.strip()

    @property
    def is_primary(self) -> bool:
        found = self.status()
        return found.get("role") in ("master", "primary") and found.get("state") == "running"

    @property
    def is_synchronous_standby(self) -> bool:
        found = self.status()
        return found.get("role") == "replica" and found.get("sync_standby") is True

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _configuration(self) -> Path:
        return self.folder / "patroni.yml"

    def _lay_out(self) -> None:
        binaries = Path(program("postgres", package="postgresql")).resolve().parent
        dcs = {
            "ttl": TTL_SECONDS,
            "loop_wait": _LOOP_SECONDS,
            "retry_timeout": _RETRY_SECONDS,
            "synchronous_mode": True,
            "master_start_timeout": 0,
            "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 100, "shared_buffers": "32MB"}},
        }
        logins = {each: {"username": "postgres"} for each in ("superuser", "replication", "rewind")}
        access = ["local all all trust", f"host all all {HOST}/32 trust", f"host replication all {HOST}/32 trust"]
        place = f"{HOST}:{self.postgres_port}"
        configuration = {
            "scope": "horae",
            "name": self.member,
            "restapi": {"listen": f"{HOST}:{self.port}", "connect_address": f"{HOST}:{self.port}"},
            "etcd3": {"host": f"{HOST}:{self._etcd.port}"},
            "bootstrap": {"dcs": dcs, "initdb": [{"encoding": "UTF8"}, {"locale": "C"}]},
            "postgresql": {
                "listen": place,
                "connect_address": place,
                "data_dir": str(self._data),
                "bin_dir": str(binaries),
                "pgpass": str(self.folder / "pgpass"),
                "authentication": logins,
                "pg_hba": access,
                "parameters": {"unix_socket_directories": str(self.folder), "wal_log_hints": "on"},
                "remove_data_directory_on_rewind_failure": True,
            },
        }
        # JSON is YAML.
        self._configuration.write_text(json.dumps(configuration))
        shutil.chown(self._configuration, self.user)

    def _command(self) -> Sequence[str]:
        return [self._program("patroni"), str(self._configuration)]


class PatroniCluster:
    """`url_of` names all members; `ask` asks the primary."""

    def __init__(self) -> None:
        self.etcd = EtcdServer()
        self.members: list[PatroniMember] = []

    def __enter__(self) -> Self:
        try:
            self.etcd.start()
            for number in range(MEMBERS):
                member = PatroniMember(number, self.etcd)
                self.members.append(member)
                member.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        for server in (*self.members, self.etcd):
            server.stop()

    @property
    def primary(self) -> PatroniMember | None:
        return next((member for member in self.members if member.is_primary), None)

    @property
    def is_protected(self) -> bool:
        """Whether there is a primary, and a standby that receives each commit before it is acknowledged."""
        return self.primary is not None and any(member.is_synchronous_standby for member in self.members)

    def url_of(self, database: str) -> str:
        hosts = ",".join(f"{HOST}:{member.postgres_port}" for member in self.members)
        return f"postgresql://postgres@{hosts}/{database}?target_session_attrs=read-write"
