"""A task that kills its process (F12): it ends in quarantine, and those beside it go on."""

from __future__ import annotations

from datetime import timedelta

from tests.faults.client import EVERYTHING, Wanted, add, soon
from tests.faults.evidence import gather, until_quiet
from tests.faults.oracle import Series
from tests.faults.place import Place, until
from tests.faults.processes import Worker, Workers
from tests.faults.scene import LONG, Measure, is_quarantined, judged, marks, one


class Supervisor:
    """Starts the worker again whenever it has died, and knows how long nobody was there."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.all: list[Worker] = [workers.ready()]
        self.down = 0.0

    def look(self) -> None:
        if not self.all[-1].alive:
            began = soon(0)
            self.all.append(self._workers.ready())
            self.down += (soon(0) - began).total_seconds()


def test_f12_a_poisonous_task_is_quarantined(place: Place, workers: Workers, measured: Measure) -> None:
    supervisor = Supervisor(workers)
    (poison,) = add(place, one("deadly"))
    wanted = [
        Wanted("note", Series(soon(0.5 + 0.05 * number), timedelta(milliseconds=250), 40), options=EVERYTHING)
        for number in range(4)
    ]
    neighbours = add(place, *wanted)

    def failed() -> bool:
        supervisor.look()
        return is_quarantined(place, poison)

    measured("F12 to quarantine", until(failed, LONG, "quarantine"))
    until_quiet(place, max(each.series.last for each in wanted), LONG)
    assert judged(place, poison._replace(must_run=False), *neighbours) == []
    deaths = [mark for mark in marks(place, "start") if mark.task == poison.task]
    pids = [worker.pid for worker in supervisor.all]
    assert [mark.pid for mark in deaths[:2]] == pids[:2]
    assert deaths[2].pid not in pids
    assert len(pids) == len(deaths) == 3
    ends = [(row.state, row.reason) for row in gather(place).rows if row.task == poison.task]
    assert ends == [("lost", "lease_lost"), ("lost", "lease_lost"), ("failed", "quarantined")]
    late = sorted((mark.instant - mark.planned).total_seconds() for mark in marks(place, "start") if mark.attempt == 1)
    measured("F12 time without a process, both deaths together", supervisor.down)
    measured("F12 neighbours' lateness, p99", late[len(late) * 99 // 100])
    assert late[len(late) * 99 // 100] <= supervisor.down + 2
