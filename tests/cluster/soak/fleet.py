"""Fleet of nodes on one store: each has its own proxy to a database server, and is restarted when it dies."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from tests.cluster.lost_reply_proxy import LostReplyProxy
from tests.cluster.stores import DatabaseServer
from tests.faults.processes import Worker, Workers
from tests.faults.testbed import Testbed
from tests.faults.worker_config import OTHER_MACHINE


class NodeSlot:
    """One node at a time. While `is_faulted`, only the nemesis touches it."""

    def __init__(
        self, workers: Workers, testbed: Testbed, proxy: LostReplyProxy | None, options: dict[str, Any]
    ) -> None:
        self.proxy = proxy
        self.is_faulted = False
        self._workers = workers
        self._options = options
        self._url = testbed.url if proxy is None else proxy.through(testbed.url)
        self.worker = self._begin()

    def restart(self) -> None:
        self.worker = self._begin()

    def _begin(self) -> Worker:
        return self._workers.start(url=self._url, **self._options)


class Fleet:
    def __init__(self, testbed: Testbed, server: DatabaseServer | None, nodes: int, lease: float) -> None:
        self.testbed = testbed
        self.server = server
        self.is_database_down = False
        """The database does not answer: a node cannot start now."""
        self.deaths: list[str] = []
        """Nodes that ended without a fault."""
        self._open = ExitStack()
        self._workers = Workers(testbed)
        self._open.callback(self._workers.clean_up)
        # Every other node reports an identity on another machine.
        homes = [{"home": OTHER_MACHINE} if number % 2 else {} for number in range(nodes)]
        self.slots = [self._slot({"lease": lease, "ceiling": lease * 2 / 3, **home}) for home in homes]

    def _slot(self, options: dict[str, Any]) -> NodeSlot:
        proxy = None if self.server is None else self._open.enter_context(LostReplyProxy(self.server.port))
        return NodeSlot(self._workers, self.testbed, proxy, options)

    @property
    def ready(self) -> int:
        return sum(slot.worker.alive and slot.worker.is_ready for slot in self.slots)

    def restart_dead(self) -> None:
        """Restart dead nodes; a node that died after its start, without a fault, goes into `deaths`."""
        for slot in self.slots:
            if slot.is_faulted or self.is_database_down or slot.worker.alive:
                continue
            if slot.worker.is_ready:
                self.deaths.append(f"died: the node {slot.worker.pid} ended, and nothing had been done to it")
            slot.restart()

    def close(self) -> None:
        self._open.close()
