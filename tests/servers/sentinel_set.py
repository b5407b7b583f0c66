"""Temporary Sentinel set: a primary, two replicas, and three Sentinel servers that agree on a failover."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

from tests.faults.testbed import wait_until
from tests.servers.ports import HOST
from tests.servers.redis import RedisServer, SentinelServer
from tests.servers.server import PATIENCE

_REPLICAS: Final = 2
_SENTINELS: Final = 3
_QUORUM: Final = 2
_DOWN_AFTER: Final = 1.0


class SentinelSet:
    """All parts are real processes; `primary` follows a failover."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self.servers: list[RedisServer] = []
        self.sentinels: list[SentinelServer] = []

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
        for _ in range(1 + _REPLICAS):
            self.servers.append(self._open.enter_context(RedisServer(in_memory=True)))
        first, *replicas = self.servers
        for each in replicas:
            each.ask("REPLICAOF", HOST, str(first.port))
        wait_until(lambda: self.count_replicas(first) == _REPLICAS, PATIENCE, "the replicas")
        for _ in range(_SENTINELS):
            sentinel = SentinelServer(first, quorum=_QUORUM, down_after=_DOWN_AFTER)
            self.sentinels.append(self._open.enter_context(sentinel))
        wait_until(self._is_complete, PATIENCE, "Sentinel servers that know each other and the replicas")

    @property
    def url(self) -> str:
        places = ",".join(f"{HOST}:{each.port}" for each in self.sentinels)
        return f"redis+sentinel://{places}/primary/0"

    @property
    def primary(self) -> RedisServer:
        """The primary, as the first Sentinel server sees it."""
        _, port = self.sentinels[0].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "primary").split("\n")
        return next(each for each in self.servers if each.port == int(port))

    def count_replicas(self, server: RedisServer) -> int:
        """Return the number of connected replicas that receive the writes of the server."""
        return server.ask("INFO", "replication").count("state=online")

    def wait_for_failover(self, former: RedisServer) -> RedisServer:
        """Wait until another server than `former` is the primary and has a replica; return it."""
        wait_until(lambda: self.primary is not former, PATIENCE, "the failover")
        primary = self.primary
        wait_until(lambda: "role:master" in primary.ask("INFO", "replication"), PATIENCE, "a primary that takes writes")
        wait_until(lambda: self.count_replicas(primary) >= 1, PATIENCE, "the other replica at the new primary")
        return primary

    def _is_complete(self) -> bool:
        return all(
            {"num-slaves": str(_REPLICAS), "num-other-sentinels": str(_SENTINELS - 1)}.items() <= _fields(each).items()
            for each in self.sentinels
        )


def _fields(sentinel: SentinelServer) -> dict[str, str]:
    words = sentinel.ask("SENTINEL", "MASTER", "primary").split("\n")
    return dict(zip(words[::2], words[1::2], strict=True))
