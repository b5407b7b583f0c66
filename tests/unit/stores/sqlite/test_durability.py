"""Durability of SQLite: acknowledged writes survive a kill, backups are consistent, and the WAL stays small."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from horae.errors import StoreError
from horae.model.change import Change
from horae.ports.store import TaskFilter
from horae.stores.sqlite import backup, writer
from horae.testing.contracts.stores.setup import add_tasks, claim_all, get_facts, settle, start_run
from horae.testing.decisions import always
from horae.testing.factories import a_new_task, a_node, a_task, an_event
from tests.unit.stores.sqlite.store_setup import new_store, open_store

WRITE_FOR_EVER = """
import asyncio, sys
from horae.stores.sqlite import SQLiteStore
from horae.testing.factories import a_new_task, a_node, a_task
from horae.testing.contracts.stores.setup import claim, settle
async def main():
    store = SQLiteStore(sys.argv[1])
    await store.open()
    await store.join(a_node())
    while True:
        task = a_task()
        await store.add([a_new_task(task)])
        print("added", task.id, flush=True)
        run = (await claim(store)).runs[0].run
        print("claimed", run.id, flush=True)
        await settle(store, run)
        print("settled", run.id, flush=True)
asyncio.run(main())
"""


def killed_after_a_hundred_writes(path: Path) -> list[list[str]]:
    """Kill a process after a hundred acknowledged writes; return them."""
    process = subprocess.Popen([sys.executable, "-c", WRITE_FOR_EVER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    written = [process.stdout.readline().split() for _ in range(100)]
    process.kill()
    return written + [line.split() for line in process.communicate()[0].splitlines() if line.count(" ") == 1]


async def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    written = killed_after_a_hundred_writes(path)
    async with open_store(path) as store:
        for what, name in written:
            if what == "added":
                assert await store.facts(name, None) is not None
            else:
                run = await store.run(name, None)
                assert run is not None
                assert what == "claimed" or not run.live
        numbers = [each.number for each in await store.events(0)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert await store.check() == ()


async def test_backup_is_a_consistent_snapshot_during_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "_PAGES_AT_ONCE", 5)
    later, steps = a_task(), list[tuple[int, int]]()

    async with new_store(tmp_path) as store:
        run = await start_run(store)
        await add_tasks(store, *(a_task(payload='"' + "x" * 2_000 + '"') for _ in range(100)))
        loop = asyncio.get_running_loop()

        def write_meanwhile(done: int, pages: int) -> None:
            """The backup waits for the writer here; the reverse would be a deadlock."""
            if not steps:
                asyncio.run_coroutine_threadsafe(add_tasks(store, later), loop).result()
                asyncio.run_coroutine_threadsafe(settle(store, run), loop).result()
            steps.append((done, pages))

        await store.backup(str(tmp_path / "copy.db"), write_meanwhile)
        assert (await get_facts(store, later)).entries
        async with open_store(tmp_path / "copy.db") as copy:
            assert await copy.facts(later.id, None) is None
            assert len((await copy.tasks(TaskFilter(), limit=1_000)).items) == 101
            copied = await copy.run(run.id, None)
            assert copied == run
            assert await copy.check() == ()
            assert await settle(copy, run) == frozenset()
    assert len(steps) > 10
    assert steps[-1][0] == steps[-1][1]
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy.db", "horae.db"]


async def test_backup_replaces_an_older_one(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("an older copy")

    async with new_store(tmp_path) as store:
        await store.write_metadata("a", "b")
        await store.backup(str(copy))
        async with open_store(copy) as restored:
            assert await restored.read_metadata("a") == "b"


async def test_failed_backup_leaves_no_file(tmp_path: Path) -> None:
    def give_up(_: int, __: int) -> None:
        raise InterruptedError

    async with new_store(tmp_path) as store:
        with pytest.raises(StoreError):
            await store.backup(str(tmp_path / "nowhere" / "copy.db"))
        with pytest.raises(StoreError):
            await store.backup(str(tmp_path / "copy.db"), give_up)
        assert await store.check() == ()
    assert [file.name for file in tmp_path.iterdir()] == ["horae.db"]


async def test_wal_stays_small_under_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_IDLE_SECONDS", 600.0)
    monkeypatch.setattr(writer, "_GROUP_PAGES", 100)
    monkeypatch.setattr(writer, "_BUSY_PAGES", 100)
    log = tmp_path / "horae.db-wal"
    sizes: list[int] = []

    async with new_store(tmp_path) as store:
        for _ in range(60):
            await store.add([a_new_task(a_task(payload='"' + "x" * 2_000 + '"')) for _ in range(10)])
            sizes.append(log.stat().st_size)
    assert max(sizes) < 200 * 4096
    assert (tmp_path / "horae.db").stat().st_size > 200 * 4096


async def test_idle_writer_checkpoints_the_wal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_IDLE_PAGES", 1)

    async with new_store(tmp_path) as store:
        before = (tmp_path / "horae.db").stat().st_size
        await store.add([a_new_task(a_task(payload='"' + "x" * 2_000 + '"')) for _ in range(100)])
        while (tmp_path / "horae.db").stat().st_size == before:
            await asyncio.to_thread(lambda: None)


async def test_long_read_does_not_block_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The WAL cannot restart while a read uses an old snapshot; it does afterwards."""
    monkeypatch.setattr(writer, "_GROUP_PAGES", 20)
    monkeypatch.setattr(writer, "_BUSY_PAGES", 20)
    monkeypatch.setattr(writer, "_IDLE_PAGES", 20)
    monkeypatch.setattr(writer, "_TRUNCATE_PAGES", 60)
    monkeypatch.setattr(backup, "_PAGES_AT_ONCE", 1)
    log = tmp_path / "horae.db-wal"

    async with new_store(tmp_path) as store:
        task = a_task()
        await add_tasks(store, task)
        loop = asyncio.get_running_loop()
        written = tuple(an_event(task) for _ in range(200))

        def write_meanwhile(done: int, _: int) -> None:
            if done < 20:
                asyncio.run_coroutine_threadsafe(
                    store.change(task.id, None, always(Change(events=written))), loop
                ).result()

        await store.backup(str(tmp_path / "copy.db"), write_meanwhile)
        long = log.stat().st_size
        assert long > 60 * 4096
        for _ in range(30):
            await store.change(task.id, None, always(Change(events=written)))
        assert log.stat().st_size < long
        await store.join(a_node())
        assert len(await claim_all(store)) == 1
