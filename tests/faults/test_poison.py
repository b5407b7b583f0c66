"""Poison task that kills its process (F12): it is quarantined, and neighbour tasks continue."""

from __future__ import annotations

from datetime import timedelta

from tests.faults.client import RUN_EVERY_INSTANT, TaskRequest, add, from_now
from tests.faults.oracle import Series
from tests.faults.processes import Worker, Workers
from tests.faults.scenario import TIMEOUT, Measure, is_quarantined, marks, one_shot, violations
from tests.faults.store_snapshot import read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until


class Supervisor:
    """Restarts a dead worker, and sums the seconds without a worker."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.all: list[Worker] = [workers.ready()]
        self.down = 0.0

    def restart_dead(self) -> None:
        if not self.all[-1].alive:
            began = from_now(0)
            self.all.append(self._workers.ready())
            self.down += (from_now(0) - began).total_seconds()


def test_f12_task_that_kills_its_process_is_quarantined(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    supervisor = Supervisor(workers)
    (poison,) = add(testbed, one_shot("deadly"))
    requests = [
        TaskRequest(
            "note", Series(from_now(0.5 + 0.05 * number), timedelta(milliseconds=250), 40), options=RUN_EVERY_INSTANT
        )
        for number in range(4)
    ]
    neighbours = add(testbed, *requests)

    def failed() -> bool:
        supervisor.restart_dead()
        return is_quarantined(testbed, poison)

    measured("F12 to quarantine", wait_until(failed, TIMEOUT, "quarantine"))
    wait_until_quiet(testbed, max(each.series.last for each in requests), TIMEOUT)
    assert violations(testbed, poison._replace(must_run=False), *neighbours) == []
    deaths = [mark for mark in marks(testbed, "start") if mark.task == poison.task]
    pids = [worker.pid for worker in supervisor.all]
    assert [mark.pid for mark in deaths[:2]] == pids[:2]
    assert deaths[2].pid not in pids
    assert len(pids) == len(deaths) == 3
    ends = [(row.state, row.reason) for row in read_snapshot(testbed).rows if row.task == poison.task]
    assert ends == [("lost", "lease_lost"), ("lost", "lease_lost"), ("failed", "quarantined")]
    late = sorted(
        (mark.instant - mark.planned).total_seconds() for mark in marks(testbed, "start") if mark.attempt == 1
    )
    measured("F12 time without a process, both deaths together", supervisor.down)
    measured("F12 neighbours' lateness, p99", late[len(late) * 99 // 100])
    assert late[len(late) * 99 // 100] <= supervisor.down + 2
