"""Temporary Redis Cluster: three primaries, each with a third of the slots."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

from tests.faults.testbed import wait_until
from tests.servers.ports import HOST, ReservedPort
from tests.servers.redis import RedisServer
from tests.servers.server import PATIENCE

_SLOTS: Final = 16_384
_PRIMARIES: Final = 3


class RedisCluster:
    """Real servers without replicas. There is one database; what shares it has different prefixes."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self.servers: list[RedisServer] = []
        self._prefixes = 0

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def _start(self) -> None:
        buses: list[int] = []
        for number in range(_PRIMARIES):
            bus = ReservedPort()
            self._open.callback(bus.release)
            settings = {"cluster-enabled": "yes", "cluster-port": str(bus.number), "databases": "1"}
            server = self._open.enter_context(RedisServer(settings=settings, in_memory=True))
            self.servers.append(server)
            buses.append(bus.number)
            first, last = (_SLOTS * each // _PRIMARIES for each in (number, number + 1))
            server.ask("CLUSTER", "ADDSLOTSRANGE", str(first), str(last - 1))
            server.ask("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
        for server in self.servers[1:]:
            server.ask("CLUSTER", "MEET", HOST, str(self.servers[0].port), str(buses[0]))
        wait_until(self._is_complete, PATIENCE, "a cluster that knows all slots")

    @property
    def url(self) -> str:
        """Address of all servers."""
        return f"redis+cluster://{','.join(f'{HOST}:{each.port}' for each in self.servers)}"

    def new_prefix(self) -> str:
        """Return an address whose prefix no other call has returned, so that slots of all servers are used in turn."""
        self._prefixes += 1
        return f"{self.url}?prefix=test{self._prefixes}"

    def _is_complete(self) -> bool:
        wanted = ("cluster_state:ok", f"cluster_slots_assigned:{_SLOTS}", f"cluster_known_nodes:{_PRIMARIES}")
        return all(words in each.ask("CLUSTER", "INFO") for each in self.servers for words in wanted)
