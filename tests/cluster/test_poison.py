"""Poison task among three nodes (F12): it kills two, is quarantined, and other tasks continue."""

from __future__ import annotations

from tests.cluster.scenario import LOCAL_NODE, ON_ONE_STORE, last_instant, lateness, steady_series
from tests.cluster.stores import StoreKind
from tests.faults.client import add
from tests.faults.processes import Worker, Workers
from tests.faults.scenario import TIMEOUT, Measure, is_quarantined, marks, one_shot, violations
from tests.faults.store_snapshot import read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until


class Supervisor:
    """Starts a node for each dead one, without waiting until it is ready."""

    def __init__(self, workers: Workers, nodes: int) -> None:
        self._workers = workers
        self.all: list[Worker] = [workers.ready(**LOCAL_NODE) for _ in range(nodes)]
        self._missed: set[int] = set()

    def restart_dead(self) -> None:
        for worker in tuple(self.all):
            if not worker.alive and worker.pid not in self._missed:
                self._missed.add(worker.pid)
                self.all.append(self._workers.start(**LOCAL_NODE))

    @property
    def died(self) -> set[int]:
        return self._missed


@ON_ONE_STORE
def test_f12_task_that_kills_its_process_is_quarantined_among_three_nodes(
    testbed: Testbed, workers: Workers, store: StoreKind, measured: Measure
) -> None:
    supervisor = Supervisor(workers, 3)
    poison, *neighbours = add(testbed, one_shot("deadly", seconds=1), *(steady_series(6.0) for _ in range(4)))

    def quarantined() -> bool:
        supervisor.restart_dead()
        return is_quarantined(testbed, poison)

    measured(f"F12 {store}, to quarantine", wait_until(quarantined, TIMEOUT, "quarantine"))
    wait_until_quiet(testbed, last_instant(*neighbours), TIMEOUT)
    late = lateness(testbed)
    measured(f"F12 {store}, p99 lateness of neighbours", late[int(len(late) * 0.99)])
    assert violations(testbed, poison._replace(must_run=False), *neighbours) == []
    deaths = [mark.pid for mark in marks(testbed, "start") if mark.task == poison.task]
    assert len(deaths) == 3
    assert supervisor.died == set(deaths[:2])
    ends = [(row.state, row.reason) for row in read_snapshot(testbed).rows if row.task == poison.task]
    assert ends == [("lost", "lease_lost"), ("lost", "lease_lost"), ("failed", "quarantined")]
