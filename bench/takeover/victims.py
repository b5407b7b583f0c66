"""Nodes with one run each and one idle node: time from the fault until the idle node starts their runs."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.takeover.scale import Tries
from horae import Horae
from horae.clock import SystemClock
from tests.faults import ledger
from tests.faults.client import TaskRequest, add, call_app, from_now
from tests.faults.oracle import Series
from tests.faults.processes import Worker, Workers
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import OTHER_MACHINE
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy

PATIENCE: Final = 120.0
_SECONDS: Final = 3_600
"""Longer than any attempt: no run ends here."""
_LOOK_SECONDS: Final = 0.1


class Victim(NamedTuple):
    worker: Worker
    proxy: Proxy


class Fault(NamedTuple):
    """`home` is where the victims say that they live: a survivor on the same machine sees that a process is gone."""

    harm: Callable[[Victim], None]
    promised: float | None
    """At most, in seconds beyond the lease."""
    home: str | None = None


FAULTS: Final[Mapping[str, Fault]] = {
    "kill -9, seen by another node": Fault(lambda victim: victim.worker.kill(), 2),
    "kill -9, on another machine": Fault(lambda victim: victim.worker.kill(), 2, OTHER_MACHINE),
    "SIGSTOP": Fault(lambda victim: victim.worker.freeze(), 2),
    "cut off": Fault(lambda victim: victim.proxy.cut(), 1, OTHER_MACHINE),
    "cut off, half open": Fault(lambda victim: victim.proxy.half_open(), 1, OTHER_MACHINE),
}


def take_over(server: PostgresServer, tries: Tries, fault: Fault, seed: int) -> list[float]:
    """One round: seconds from each fault to the next start of the run that was going there."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Testbed(Path(folder), server.new_database())
        call_app(place, _opened)
        workers = stack.enter_context(_working(place))
        victims = [_victim(stack, server, workers, place, tries, fault) for _ in range(tries.victims)]
        for victim in victims:
            victim.worker.expect("ready", PATIENCE)
        add(place, *(TaskRequest("lasting", Series(from_now(0.1)), {"seconds": _SECONDS}) for _ in victims))
        wait_until(lambda: len(_starts(place, 1)) == len(victims), PATIENCE, "a run on each", _LOOK_SECONDS)
        workers.ready(**_terms(tries))
        harmed = _harm_all(victims, fault, random.Random(seed), tries.lease)
        wait_until(lambda: len(_starts(place, 2)) == len(victims), PATIENCE, "all of them taken over", _LOOK_SECONDS)
        first, second = _starts(place, 1), _starts(place, 2)
        return [(second[task].instant - harmed[mark.pid]).total_seconds() for task, mark in first.items()]


async def _opened(_app: Horae) -> None:
    """The first node creates the tables, before the measurement."""


def _victim(
    stack: ExitStack, server: PostgresServer, workers: Workers, place: Testbed, tries: Tries, fault: Fault
) -> Victim:
    """It has room for one run: so each of them has one."""
    proxy = stack.enter_context(Proxy(server.port))
    options = _terms(tries) | {"url": proxy.through(place.url), "capacity": 1, "home": fault.home}
    return Victim(workers.start(**options), proxy)


def _terms(tries: Tries) -> dict[str, Any]:
    return {"lease": tries.lease, "ceiling": tries.lease * 2 / 3}


def _harm_all(victims: list[Victim], fault: Fault, chance: random.Random, lease: float) -> dict[int, datetime]:
    """One after the other, over the time between two renewals, so that each moment between them comes up."""
    clock, harmed = SystemClock(), {}
    clock.sleep(lease / 4 + chance.random() * lease / 4)
    for victim in victims:
        clock.sleep(chance.random() * lease / 2 / len(victims))
        harmed[victim.worker.pid] = clock.now()
        fault.harm(victim)
    return harmed


def _starts(place: Testbed, attempt: int) -> dict[str, ledger.Mark]:
    return {mark.task: mark for mark in ledger.read(place.ledger) if mark.phase == "start" and mark.attempt == attempt}


@contextmanager
def _working(place: Testbed) -> Iterator[Workers]:
    workers = Workers(place)
    try:
        yield workers
    finally:
        workers.clean_up()
