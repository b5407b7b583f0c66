"""Temporary Galera cluster: three MariaDB servers on the loopback, each with ports of its own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from horae.clock import SystemClock
from tests.servers.mariadb import MariaDBServer
from tests.servers.ports import HOST, ReservedPort
from tests.servers.server import PATIENCE

MEMBERS: Final = 3
LIBRARY: Final = Path("/usr/lib/galera/libgalera_smm.so")
"""Where the package galera-4 puts the replication library."""
_SETTINGS: Final = {
    "binlog-format": "ROW",
    "innodb-autoinc-lock-mode": "2",
    "wsrep-on": "ON",
    "wsrep-provider": str(LIBRARY),
    "wsrep-cluster-name": "horae_tests",
    "wsrep-sst-method": "rsync",
}
_DETECTION: Final = {
    # A silent member is excluded after 2 s, not after 5; less would exclude members of a busy machine.
    "evs.keepalive_period": "PT0.5S",
    "evs.inactive_check_period": "PT0.5S",
    "evs.suspect_timeout": "PT2S",
    "evs.inactive_timeout": "PT4S",
    "evs.install_timeout": "PT4S",
    "gcache.size": "32M",
}
_LOOK_SECONDS: Final = 0.05


class GaleraMember(MariaDBServer):
    """One server of the cluster; `group` are the replication ports of all."""

    package = "galera-4 and mariadb-server"

    def __init__(self, number: int, group: Sequence[ReservedPort]) -> None:
        super().__init__(in_memory=True, settings=_SETTINGS)
        self._group = group
        self._own = group[number]
        self._transfers = [ReservedPort(), ReservedPort()]
        self.begins = False
        """Whether the next start begins a new cluster, instead of joining one."""

    def stop(self) -> None:
        super().stop()
        for port in self._transfers:
            port.release()

    def status(self, name: str) -> str:
        """Return a status variable of the replication."""
        return self.ask(f"SHOW GLOBAL STATUS LIKE 'wsrep_{name}'").partition("\t")[2]

    @property
    def is_synced(self) -> bool:
        return self.status("local_state_comment") == "Synced" and self.status("cluster_status") == "Primary"

    @property
    def known_members(self) -> int:
        """How many members the table of the cluster has on this one; it follows a new view later than the status."""
        return int(self.ask("SELECT COUNT(*) FROM mysql.wsrep_cluster_members"))

    def wait_applied(self) -> None:
        """Wait until this member has applied all that the cluster has committed."""
        self.ask("SET SESSION wsrep_sync_wait = 1; SELECT 1")

    def cut_off(self) -> None:
        """Let the member lose its connections to the others, and refuse new ones; clients still reach it."""
        self.ask("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")

    def heal(self) -> None:
        self.ask("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")

    def _command(self) -> Sequence[str]:
        state, increment = self._transfers
        options = {
            **_DETECTION,
            "gmcast.listen_addr": f"tcp://{HOST}:{self._own.number}",
            "ist.recv_addr": f"{HOST}:{increment.number}",
        }
        settings = {
            "wsrep-cluster-address": "gcomm://" + ",".join(f"{HOST}:{port.number}" for port in self._group),
            "wsrep-node-address": f"{HOST}:{self._own.number}",
            "wsrep-sst-receive-address": f"{HOST}:{state.number}",
            "wsrep-provider-options": ";".join(f"{name}={value}" for name, value in options.items()),
        }
        begins, self.begins = ["--wsrep-new-cluster"] if self.begins else [], False
        return [*super()._command(), *(f"--{name}={value}" for name, value in settings.items()), *begins]


class GaleraCluster:
    """Three members; databases of one are on all."""

    def __init__(self) -> None:
        self._ports: list[ReservedPort] = []
        self.members: list[GaleraMember] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._ports = [ReservedPort() for _ in range(MEMBERS)]
            for port in self._ports:
                stack.callback(port.release)
            self.members = [GaleraMember(number, self._ports) for number in range(MEMBERS)]
            self.members[0].begins = True
            # One after the other: a member that joins copies the data of another one.
            for member in self.members:
                stack.enter_context(member)
                self.wait_synced(member)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def new_database(self) -> str:
        """Create an empty database, and return its address with all members, in their order."""
        database = self.members[0].new_database().rpartition("/")[2]
        return self.url_of(database)

    def url_of(self, database: str) -> str:
        places = ",".join(f"{HOST}:{member.port}" for member in self.members)
        return f"mysql://root@{places}/{database}"

    def wait_synced(self, member: GaleraMember) -> None:
        """Wait until the member belongs to the primary component, and has what the others have."""
        clock = SystemClock()
        deadline = clock.steady() + PATIENCE
        while not member.is_synced:
            assert clock.steady() < deadline, f"a member does not join:\n{member.log()[-4_000:]}"
            clock.sleep(_LOOK_SECONDS)

    def wait_complete(self) -> None:
        """Wait until every member is synced, and knows all others."""
        clock = SystemClock()
        deadline = clock.steady() + PATIENCE
        for member in self.members:
            self.wait_synced(member)
            while member.known_members < MEMBERS:
                assert clock.steady() < deadline, f"a member does not know all others:\n{member.log()[-4_000:]}"
                clock.sleep(_LOOK_SECONDS)
