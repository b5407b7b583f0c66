"""The disk is full (F7): whoever adds is told so, the engine waits, and goes on by itself when there is space again."""

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
from tests.faults.client import EVERYTHING, Wanted, add, soon
from tests.faults.evidence import number, query, until_quiet
from tests.faults.functions import FOLDER
from tests.faults.oracle import Due, Series
from tests.faults.orders import LEASE
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, Measure, has, judged, marks, one

_SIZE: Final = "16m"
_MOST_ADDED: Final = 200


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The store's file stands on a small file system of its own; the ledger of the targets does not."""
    if os.geteuid() != 0 and "CI" not in os.environ:
        pytest.skip("only root can mount a file system")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "horae-faults", str(disk)], check=True)
    try:
        yield Place.on_file(tmp_path, disk / "horae.db")
    finally:
        # Lazily: what a failed test has left open must not keep it.
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


class Filler:
    """One large file that leaves no space beside it."""

    def __init__(self, place: Place) -> None:
        self._path = place.store.parent / "filler"

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


def add_until_refused(place: Place) -> list[Due]:
    """What was acknowledged until the store said that it is full; the log may have had a little space left."""
    added: list[Due] = []
    for _ in range(_MOST_ADDED):
        try:
            added += add(place, one())
        except StoreFull:
            return added
    raise AssertionError("the store never said that it is full")


def overdue(place: Place, seconds: float) -> bool:
    found = query(place, "SELECT min(due) FROM agenda")[0][0]
    return found is not None and found < number(soon(-seconds))


def test_f7_the_engine_waits_for_space(place: Place, workers: Workers, measured: Measure) -> None:
    workers.ready()
    series = Series(soon(0.5), timedelta(milliseconds=500), 20)
    due = [
        *add(place, Wanted("note", series, options=EVERYTHING)),
        *add(place, one("awaited", {"gate": "done"})),
    ]
    until(has(place, "effect", 2), LONG, "the first effects")
    until(lambda: due[1].task in {mark.task for mark in marks(place, "start")}, LONG, "what ends while all is full")
    filler = Filler(place)
    filler.fill()
    due += add_until_refused(place)
    place.open_gate("done")
    # Longer than the lease: the node must also get over having lost it.
    until(lambda: overdue(place, LEASE * 1.5), LONG, "something overdue by more than a lease")
    filler.remove()
    removed = soon(0)
    back = until(lambda: marks(place, "effect")[-1].instant > removed, 10, "the next effect")
    measured("F7 the next effect, after space is back", back)
    until_quiet(place, series.last, LONG)
    assert judged(place, *due) == []
    assert {mark.attempt for mark in marks(place, "effect")} == {1}


def test_f7_a_store_that_was_full_when_its_node_died(place: Place, workers: Workers) -> None:
    worker = workers.ready()
    due = [*add(place, one("awaited", {"gate": "done"}))]
    until(has(place, "start"), LONG, "the start")
    filler = Filler(place)
    filler.fill()
    due += add_until_refused(place)
    worker.kill()
    filler.remove()
    place.open_gate("done")
    workers.ready()
    until_quiet(place, soon(0.2), LONG)
    assert judged(place, *due) == []


async def test_f7_whoever_asks_whether_it_is_ready_hears_of_it_and_of_its_end(place: Place, measured: Measure) -> None:
    async def ready(api: Api, status: int) -> dict[str, Any]:
        async with asyncio.timeout(LONG):
            while (reply := await api.get("/readyz", who=None)).status != status:
                await SystemClock().pause(0.1)
        found: dict[str, Any] = reply.json
        return found

    clock, filler = SystemClock(), Filler(place)
    async with serve_api(f"sqlite:///{place.store}") as api:
        await ready(api, 200)
        filler.fill()
        begun = clock.steady()
        told = await ready(api, 503)
        measured("F7 not ready, after the disk is full", clock.steady() - begun)
        assert (told["parts"]["store"], told["problem"]["code"]) == (True, "no_space_left")
        filler.remove()
        begun = clock.steady()
        assert (await ready(api, 200))["problem"] is None
        measured("F7 ready again, after space is back", clock.steady() - begun)
