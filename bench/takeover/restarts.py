"""The database is killed and comes back: time until its nodes go on."""

from __future__ import annotations

import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from bench.takeover.scale import Tries
from horae.clock import SystemClock
from tests.faults import ledger
from tests.faults.client import RUN_EVERY_INSTANT, TaskRequest, add, from_now
from tests.faults.oracle import Series
from tests.faults.processes import Workers
from tests.faults.testbed import Testbed, wait_until
from tests.servers.postgres import PostgresServer

PATIENCE: Final = 120.0
_EVERY: Final = timedelta(milliseconds=200)
_LONG_ENOUGH: Final = timedelta(hours=2)


def come_back(server: PostgresServer, tries: Tries) -> list[float]:
    """Seconds from each return of the database to the first effect after it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Testbed(Path(folder), server.new_database())
        workers = Workers(place)
        try:
            for _ in range(2):
                workers.ready(lease=tries.lease, ceiling=tries.lease * 2 / 3)
            times = _LONG_ENOUGH // _EVERY
            add(
                place,
                TaskRequest(
                    "light", Series(from_now(0.5), _EVERY, times), options={**RUN_EVERY_INSTANT, "overlap": "skip"}
                ),
            )
            return [_come_back(server, place) for _ in range(tries.restarts)]
        finally:
            workers.clean_up()


def _come_back(server: PostgresServer, place: Testbed) -> float:
    before = _effects(place)
    wait_until(lambda: len(_effects(place)) > len(before), PATIENCE, "an effect before it")
    server.kill()
    server.start()
    returned = SystemClock().now()
    wait_until(lambda: _effects(place)[-1] > returned, PATIENCE, "an effect after it")
    return (min(each for each in _effects(place) if each > returned) - returned).total_seconds()


def _effects(place: Testbed) -> list[datetime]:
    return [mark.instant for mark in ledger.read(place.ledger) if mark.phase == "effect"]
