"""Full or failing disk: callers get the error, nothing half-written remains, and later writes succeed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from horae.errors import StoreDamaged, StoreError, StoreFull, StoreUnavailable
from horae.ports.store import TaskFilter
from horae.stores.sqlite import writer
from horae.testing.contracts.stores.setup import add_tasks, claim, get_facts, settle, start_run
from horae.testing.factories import a_new_task, a_node, a_task
from tests.unit.stores.sqlite.faulty_disk import Disk, fill_store, limit_growth
from tests.unit.stores.sqlite.store_setup import new_store, open_store
from tests.unit.stores.sqlite.writer_control import block_writer, wait_for_requests


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk("faulty")
    yield disk
    disk.unregister()


async def test_full_disk_refuses_only_writes_that_need_space(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        run = await start_run(store)
        await limit_growth(store, 20)
        count = await fill_store(store)
        assert count > 0
        assert await store.find("ada", str(count - 1)) is not None
        assert await store.find("ada", str(count)) is None
        await limit_growth(store, 1_000)
        assert await settle(store, run) == frozenset()
        await add_tasks(store, a_task())
        assert [each.number for each in await store.events(0)] == list(range(1, await store.last_event() + 1))
        assert await store.check() == ()


async def test_request_that_does_not_fit_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_GROUP_SECONDS", 600.0)

    async with new_store(tmp_path) as store:
        await limit_growth(store, 20)
        async with block_writer(store):
            calls = [
                asyncio.create_task(store.write_metadata("small", "1")),
                asyncio.create_task(store.write_metadata("large", "x" * 1_000_000)),
                asyncio.create_task(store.write_metadata("small too", "2")),
            ]
            await wait_for_requests(store, len(calls))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(answers[1], StoreFull)
        assert await store.read_metadata("large") is None
        for name, value, answer in (("small", "1", answers[0]), ("small too", "2", answers[2])):
            # SQLite may roll back the whole transaction; then every request gets the error.
            assert await store.read_metadata(name) == (value if answer is None else None)
        await limit_growth(store, 1_000)
        await store.write_metadata("large", "x" * 1_000_000)
        assert await store.check() == ()


@pytest.mark.parametrize(
    ("error", "expected"),
    [(apsw.IOError("the cable"), StoreUnavailable), (apsw.FullError("no room"), StoreFull)],
    ids=["broken", "full"],
)
@pytest.mark.parametrize("moment", ["write", "sync"])
async def test_failed_commit_fails_every_request_of_the_group(
    tmp_path: Path, disk: Disk, moment: str, error: apsw.Error, expected: type[StoreError]
) -> None:
    async with open_store(tmp_path / "horae.db", vfs=disk.name) as store:
        run = await start_run(store)
        task = a_task()
        events = await store.last_event()
        async with block_writer(store):
            calls = [
                asyncio.create_task(settle(store, run)),
                asyncio.create_task(store.write_metadata("a", "b")),
                asyncio.create_task(store.add([a_new_task(task)])),
            ]
            await wait_for_requests(store, len(calls))
            disk.sync_error, disk.write_error = (error, None) if moment == "sync" else (None, error)
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(answer) for answer in answers} == {expected}
        with disk.failing(sync=error), pytest.raises(expected):
            await store.write_metadata("a", "c")
        assert await store.read_metadata("a") is None
        assert await store.facts(task.id, None) is None
        assert await store.last_event() == events
        # The task cache must not hold the state that was rolled back.
        assert await settle(store, run) == frozenset()
        facts = await store.facts(run.task_id, None)
        assert facts is not None
        assert facts.live == ()
        await store.add([a_new_task(task)])
        assert await store.check() == ()


async def test_claim_after_a_failed_commit_reads_fresh_facts(tmp_path: Path, disk: Disk) -> None:
    async with open_store(tmp_path / "horae.db", vfs=disk.name) as store:
        await store.join(a_node())
        await add_tasks(store, task := a_task())
        with disk.failing(sync=apsw.IOError("the cable")), pytest.raises(StoreUnavailable):
            await claim(store)
        async with open_store(tmp_path / "horae.db") as another:
            run = (await claim(another)).runs[0].run
        assert (await claim(store)).runs == ()
        assert (await get_facts(store, task)).live == (run,)
        assert await settle(store, run) == frozenset()
        assert await store.check() == ()


async def test_damaged_file_raises_store_damaged(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    async with open_store(path) as store:
        await store.add([a_new_task(a_task(payload='"' + "x" * 3_000 + '"')) for _ in range(50)])
    found = (
        apsw.Connection(str(path)).execute("SELECT rootpage FROM sqlite_schema WHERE name = 'task_state'").fetchall()
    )
    page = int(str(found[0][0]))
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    path.write_bytes(content)
    async with open_store(path) as store:
        findings = await store.check()
        assert findings
        assert all("damaged" in finding for finding in findings)
        with pytest.raises(StoreDamaged):
            await store.tasks(TaskFilter())
