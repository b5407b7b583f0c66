"""Full disk (F7): adding fails with `StoreFull`, the engine waits, and continues when there is space."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from horae.clock import SystemClock
from horae.errors import StoreFull
from tests.api.api_server import Api, serve_api
from tests.faults.client import RUN_EVERY_INSTANT, TaskRequest, add, from_now
from tests.faults.functions import FOLDER
from tests.faults.oracle import Due, Series
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, marks, one_shot, violations
from tests.faults.store_snapshot import number, query, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import LEASE

_SIZE: Final = "16m"
_MOST_ADDED: Final = 200


@pytest.fixture
def testbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Testbed]:
    """Testbed whose store file is on a small tmpfs; the ledger is not."""
    if os.geteuid() != 0 and "CI" not in os.environ:
        pytest.skip("only root can mount a file system")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "horae-faults", str(disk)], check=True)
    try:
        yield Testbed.on_file(tmp_path, disk / "horae.db")
    finally:
        # Lazy: files that a failed test left open must not block the unmount.
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


class Filler:
    """File that takes all free space of the disk."""

    def __init__(self, testbed: Testbed) -> None:
        self._path = testbed.store.parent / "filler"

    def fill(self) -> None:
        with self._path.open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 9, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    def remove(self) -> None:
        self._path.unlink()


def add_until_refused(testbed: Testbed) -> list[Due]:
    """Add tasks until `StoreFull`; return those acknowledged while the write-ahead log had space left."""
    added: list[Due] = []
    for _ in range(_MOST_ADDED):
        try:
            added += add(testbed, one_shot())
        except StoreFull:
            return added
    raise AssertionError("the store never raised StoreFull")


def is_overdue(testbed: Testbed, seconds: float) -> bool:
    found = query(testbed, "SELECT min(due) FROM agenda")[0][0]
    return found is not None and found < number(from_now(-seconds))


def test_f7_engine_waits_for_disk_space(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    workers.ready()
    series = Series(from_now(0.5), timedelta(milliseconds=500), 20)
    due = [
        *add(testbed, TaskRequest("note", series, options=RUN_EVERY_INSTANT)),
        *add(testbed, one_shot("awaited", {"gate": "done"})),
    ]
    wait_until(has_marks(testbed, "effect", 2), TIMEOUT, "the first effects")
    wait_until(
        lambda: due[1].task in {mark.task for mark in marks(testbed, "start")}, TIMEOUT, "what ends while all is full"
    )
    filler = Filler(testbed)
    filler.fill()
    due += add_until_refused(testbed)
    testbed.open_gate("done")
    # Longer than the lease: the node must also recover from losing it.
    wait_until(lambda: is_overdue(testbed, LEASE * 1.5), TIMEOUT, "something overdue by more than a lease")
    filler.remove()
    removed = from_now(0)
    back = wait_until(lambda: marks(testbed, "effect")[-1].instant > removed, 10, "the next effect")
    measured("F7 the next effect, after space is back", back)
    wait_until_quiet(testbed, series.last, TIMEOUT)
    assert violations(testbed, *due) == []
    assert {mark.attempt for mark in marks(testbed, "effect")} == {1}


def test_f7_node_killed_on_a_full_disk_recovers(testbed: Testbed, workers: Workers) -> None:
    worker = workers.ready()
    due = [*add(testbed, one_shot("awaited", {"gate": "done"}))]
    wait_until(has_marks(testbed, "start"), TIMEOUT, "the start")
    filler = Filler(testbed)
    filler.fill()
    due += add_until_refused(testbed)
    worker.kill()
    filler.remove()
    testbed.open_gate("done")
    workers.ready()
    wait_until_quiet(testbed, from_now(0.2), TIMEOUT)
    assert violations(testbed, *due) == []


async def test_f7_readyz_reports_full_disk_and_recovery(testbed: Testbed, measured: Measure) -> None:
    async def ready(api: Api, status: int) -> dict[str, Any]:
        async with asyncio.timeout(TIMEOUT):
            while (reply := await api.get("/readyz", who=None)).status != status:
                await SystemClock().pause(0.1)
        found: dict[str, Any] = reply.json
        return found

    clock, filler = SystemClock(), Filler(testbed)
    async with serve_api(f"sqlite:///{testbed.store}") as api:
        await ready(api, 200)
        filler.fill()
        since = clock.steady()
        report = await ready(api, 503)
        measured("F7 not ready, after the disk is full", clock.steady() - since)
        assert (report["parts"]["store"], report["problem"]["code"]) == (True, "no_space_left")
        filler.remove()
        since = clock.steady()
        assert (await ready(api, 200))["problem"] is None
        measured("F7 ready again, after space is back", clock.steady() - since)
