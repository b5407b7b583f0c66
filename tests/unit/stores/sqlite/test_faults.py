"""A disk that is full or fails: whoever asked hears of it, nothing half-written is kept, and work goes on afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import apsw
import pytest

from horae.errors import StoreDamaged, StoreError, StoreFull, StoreUnavailable
from horae.ports.store import TaskFilter
from horae.stores.sqlite import SQLiteStore, writer
from horae.testing.contracts.stores.setup import add_tasks, claim, get_facts, settle, start_run
from horae.testing.factories import a_new_task, a_node, a_task
from tests.unit.stores.sqlite.faults import Disk
from tests.unit.stores.sqlite.opening import new_store, opened
from tests.unit.stores.sqlite.test_writer import asked, held_up


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk("faulty")
    yield disk
    disk.unregister()


async def most_pages(store: SQLiteStore, more: int) -> None:
    """From now on the file may grow by so many pages."""
    await store._writer.submit(
        lambda link: link.query(f"PRAGMA max_page_count = {link.query('PRAGMA page_count')[0][0] + more}")
    )


async def filled_up(store: SQLiteStore) -> int:
    """Large tasks, until no other one fits; how many did."""
    for kept in count():
        try:
            await store.add([a_new_task(a_task(key=str(kept), payload='"' + "x" * 5_000 + '"'))])
        except StoreFull:
            return kept
    raise AssertionError


async def test_a_full_disk_refuses_writes_and_nothing_else(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        run = await start_run(store)
        await most_pages(store, 20)
        kept = await filled_up(store)
        assert kept > 0
        assert await store.find("ada", str(kept - 1)) is not None
        assert await store.find("ada", str(kept)) is None
        await most_pages(store, 1_000)
        assert await settle(store, run) == frozenset()
        await add_tasks(store, a_task())
        assert [each.number for each in await store.events(0)] == list(range(1, await store.last_event() + 1))
        assert await store.check() == ()


async def test_the_one_who_does_not_fit_does_not_harm_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_GROUP_SECONDS", 600.0)

    async with new_store(tmp_path) as store:
        await most_pages(store, 20)
        async with held_up(store):
            calls = [
                asyncio.create_task(store.write_metadata("small", "1")),
                asyncio.create_task(store.write_metadata("large", "x" * 1_000_000)),
                asyncio.create_task(store.write_metadata("small too", "2")),
            ]
            await asked(store, len(calls))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(answers[1], StoreFull)
        assert await store.read_metadata("large") is None
        for name, value, answer in (("small", "1", answers[0]), ("small too", "2", answers[2])):
            # SQLite is free to give up the whole transaction; then they have heard of it.
            assert await store.read_metadata(name) == (value if answer is None else None)
        await most_pages(store, 1_000)
        await store.write_metadata("large", "x" * 1_000_000)
        assert await store.check() == ()


@pytest.mark.parametrize(
    ("error", "told"),
    [(apsw.IOError("the cable"), StoreUnavailable), (apsw.FullError("no room"), StoreFull)],
    ids=["broken", "full"],
)
@pytest.mark.parametrize("moment", ["write", "sync"])
async def test_a_commit_that_fails_is_told_to_all_and_keeps_nothing(
    tmp_path: Path, disk: Disk, moment: str, error: apsw.Error, told: type[StoreError]
) -> None:
    async with opened(tmp_path / "horae.db", vfs=disk.name) as store:
        run = await start_run(store)
        task = a_task()
        events = await store.last_event()
        async with held_up(store):
            calls = [
                asyncio.create_task(settle(store, run)),
                asyncio.create_task(store.write_metadata("a", "b")),
                asyncio.create_task(store.add([a_new_task(task)])),
            ]
            await asked(store, len(calls))
            disk.sync_error, disk.write_error = (error, None) if moment == "sync" else (None, error)
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(answer) for answer in answers} == {told}
        with disk.failing(sync=error), pytest.raises(told):
            await store.write_metadata("a", "c")
        assert await store.read_metadata("a") is None
        assert await store.facts(task.id, None) is None
        assert await store.last_event() == events
        # What this process remembered of the task must not be what was rolled back.
        assert await settle(store, run) == frozenset()
        facts = await store.facts(run.task_id, None)
        assert facts is not None
        assert facts.live == ()
        await store.add([a_new_task(task)])
        assert await store.check() == ()


async def test_a_claim_that_was_not_kept_is_made_again_with_other_facts(tmp_path: Path, disk: Disk) -> None:
    async with opened(tmp_path / "horae.db", vfs=disk.name) as store:
        await store.join(a_node())
        await add_tasks(store, task := a_task())
        with disk.failing(sync=apsw.IOError("the cable")), pytest.raises(StoreUnavailable):
            await claim(store)
        async with opened(tmp_path / "horae.db") as another:
            run = (await claim(another)).runs[0].run
        assert (await claim(store)).runs == ()
        assert (await get_facts(store, task)).live == (run,)
        assert await settle(store, run) == frozenset()
        assert await store.check() == ()


async def test_a_damaged_file_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    async with opened(path) as store:
        await store.add([a_new_task(a_task(payload='"' + "x" * 3_000 + '"')) for _ in range(50)])
    found = (
        apsw.Connection(str(path)).execute("SELECT rootpage FROM sqlite_schema WHERE name = 'task_state'").fetchall()
    )
    page = int(str(found[0][0]))
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    path.write_bytes(content)
    async with opened(path) as store:
        doubts = await store.check()
        assert doubts
        assert all("damaged" in doubt for doubt in doubts)
        with pytest.raises(StoreDamaged):
            await store.tasks(TaskFilter())
