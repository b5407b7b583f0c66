"""A task that kills its process (F12), among three nodes: it takes two with it, ends in quarantine, and the rest go on."""

from __future__ import annotations

from tests.cluster.scene import NEAR, ON_ONE_STORE, last_of, lateness, steadily
from tests.cluster.stores import StoreKind
from tests.faults.client import add
from tests.faults.evidence import gather, until_quiet
from tests.faults.place import Place, until
from tests.faults.processes import Worker, Workers
from tests.faults.scene import LONG, Measure, is_quarantined, judged, marks, one


class Supervisor:
    """Starts a node in the place of each that has died, without waiting until it is ready."""

    def __init__(self, workers: Workers, nodes: int) -> None:
        self._workers = workers
        self.all: list[Worker] = [workers.ready(**NEAR) for _ in range(nodes)]
        self._missed: set[int] = set()

    def look(self) -> None:
        for worker in tuple(self.all):
            if not worker.alive and worker.pid not in self._missed:
                self._missed.add(worker.pid)
                self.all.append(self._workers.start(**NEAR))

    @property
    def died(self) -> set[int]:
        return self._missed


@ON_ONE_STORE
def test_f12_a_poisonous_task_among_nodes(place: Place, workers: Workers, store: StoreKind, measured: Measure) -> None:
    supervisor = Supervisor(workers, 3)
    poison, *neighbours = add(place, one("deadly", seconds=1), *(steadily(6.0) for _ in range(4)))

    def quarantined() -> bool:
        supervisor.look()
        return is_quarantined(place, poison)

    measured(f"F12 {store}, to quarantine", until(quarantined, LONG, "quarantine"))
    until_quiet(place, last_of(*neighbours), LONG)
    late = lateness(place)
    measured(f"F12 {store}, p99 lateness of neighbours", late[int(len(late) * 0.99)])
    assert judged(place, poison._replace(must_run=False), *neighbours) == []
    deaths = [mark.pid for mark in marks(place, "start") if mark.task == poison.task]
    assert len(deaths) == 3
    assert supervisor.died == set(deaths[:2])
    ends = [(row.state, row.reason) for row in gather(place).rows if row.task == poison.task]
    assert ends == [("lost", "lease_lost"), ("lost", "lease_lost"), ("failed", "quarantined")]
