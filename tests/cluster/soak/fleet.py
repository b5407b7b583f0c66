"""Nodes on one store, each behind a proxy of its own where there is a server to reach, and each replaced when it died."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from tests.cluster.forgetful import ForgetfulProxy
from tests.cluster.stores import DatabaseServer
from tests.faults.orders import ELSEWHERE
from tests.faults.place import Place
from tests.faults.processes import Worker, Workers


class Seat:
    """One node at a time. While `hurt`, something is being done to it, and nobody else touches it."""

    def __init__(self, workers: Workers, place: Place, proxy: ForgetfulProxy | None, options: dict[str, Any]) -> None:
        self.proxy = proxy
        self.hurt = False
        self._workers = workers
        self._options = options
        self._url = place.url if proxy is None else proxy.through(place.url)
        self.worker = self._begin()

    def refill(self) -> None:
        self.worker = self._begin()

    def _begin(self) -> Worker:
        return self._workers.start(url=self._url, **self._options)


class Fleet:
    def __init__(self, place: Place, server: DatabaseServer | None, nodes: int, lease: float) -> None:
        self.place = place
        self.server = server
        self.down = False
        """The database is away: whoever starts now cannot."""
        self.deaths: list[str] = []
        """Nodes that ended, and nobody had done anything to them."""
        self._open = ExitStack()
        self._workers = Workers(place)
        self._open.callback(self._workers.bury)
        # Every other node seems to live on another machine.
        homes = [{"home": ELSEWHERE} if number % 2 else {} for number in range(nodes)]
        self.seats = [self._seat({"lease": lease, "ceiling": lease * 2 / 3, **home}) for home in homes]

    def _seat(self, options: dict[str, Any]) -> Seat:
        proxy = None if self.server is None else self._open.enter_context(ForgetfulProxy(self.server.port))
        return Seat(self._workers, self.place, proxy, options)

    @property
    def ready(self) -> int:
        return sum(seat.worker.alive and seat.worker.is_ready for seat in self.seats)

    def look(self) -> None:
        """Who died on the way up because the database was away is started again; who died later is told of."""
        for seat in self.seats:
            if seat.hurt or self.down or seat.worker.alive:
                continue
            if seat.worker.is_ready:
                self.deaths.append(f"died: the node {seat.worker.pid} ended, and nothing had been done to it")
            seat.refill()

    def close(self) -> None:
        self._open.close()
