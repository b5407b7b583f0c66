"""Backup of a Redis store while nodes write: one instant, complete, restored into an empty server and compared row by row."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae import Horae
from horae.errors import StoreError, StoreUnavailable
from horae.model.accounts.principal import LOCAL
from horae.ports.store import TaskFilter
from horae.ports.transfer import Part
from horae.runtime.stores import make_store
from horae.stores.redis.connections import backup
from horae.stores.redis.store import RedisStore
from horae.testing.contracts.stores.writes.sample_contents import fill_store
from horae.testing.contracts.stores.writes.transfer import move_everything
from horae.testing.factories import NOON, a_new_task, a_task
from horae.transfer.copy import move_store
from horae.transfer.digest import compute_digest
from horae.transfer.idle_check import LivenessCheck
from horae.transfer.move_progress import NamedStore
from horae.virtual_time import VirtualClock
from tests.cli.command_line import Cli
from tests.servers.redis import RedisServer
from tests.servers.redis_cluster import RedisCluster

AT_ONCE = {"repl-diskless-sync-delay": "0"}


class RestoredServer(RedisServer):
    """An empty server that loads a backup when it starts."""

    def __init__(self, path: Path) -> None:
        super().__init__(settings={"appendonly": "no"})
        self._backup = path

    def _lay_out(self) -> None:
        shutil.copyfile(self._backup, self.folder / "dump.rdb")
        (self.folder / "dump.rdb").chmod(0o644)


async def digests_of(store: Any) -> Mapping[Part, Any]:
    return {part: await compute_digest(store, part) for part in Part}


@pytest.mark.parametrize("delivery", ["yes", "no"])
async def test_restored_backup_has_every_row(tmp_path: Path, delivery: str) -> None:
    """The server streams the snapshot, or writes it to its disk first."""
    path = tmp_path / "horae.rdb"
    with RedisServer(settings={**AT_ONCE, "repl-diskless-sync": delivery}) as server:
        url = server.new_database()
        store = make_store(url)
        await store.open()
        # Rows of every part.
        await fill_store(store)
        before = await digests_of(store)
        shares: list[tuple[int, int]] = []
        await store.backup(str(path), lambda done, total: shares.append((done, total)))
        assert await digests_of(store) == before
        await store.close()
    assert all(digest.item_count for digest in before.values())
    assert path.stat().st_mode & 0o777 == 0o600
    assert all(done <= total for done, total in shares)
    with RestoredServer(path) as restored:
        copy = make_store(restored.url_of(int(url.rpartition("/")[2])))
        await copy.open()
        after = await digests_of(copy)
        # Marks rise when a store is opened: a token of the restored store is above every earlier one.
        assert {part: each for part, each in after.items() if part is not Part.MARKS} == {
            part: each for part, each in before.items() if part is not Part.MARKS
        }
        assert await copy.check() == ()
        await copy.close()


async def test_backup_during_writes_is_one_instant(tmp_path: Path) -> None:
    """Tasks are added one after the other: a copy of one instant has all of them up to one, with all their rows."""
    path = tmp_path / "horae.rdb"
    with RedisServer(settings=AT_ONCE) as server:
        url = server.new_database()
        store, writer = RedisStore(url), RedisStore(url)
        await store.open()
        await writer.open()
        written: list[str] = []
        stop = asyncio.Event()
        begun = asyncio.Event()

        async def write() -> None:
            while not stop.is_set():
                task = a_task()
                await writer.add([a_new_task(task)])
                written.append(task.id)
                if len(written) == 50:
                    begun.set()

        writing = asyncio.create_task(write())
        await begun.wait()
        acknowledged = len(written)
        await store.backup(str(path))
        attempted = len(written) + 1
        stop.set()
        await writing
        await store.close()
        await writer.close()
    with RestoredServer(path) as restored:
        copy = RedisStore(restored.url_of(int(url.rpartition("/")[2])))
        await copy.open()
        found = {facts.task.id async for facts in all_tasks(copy)}
        assert acknowledged <= len(found) <= attempted
        assert found == set(written[: len(found)])
        assert await copy.check() == ()
        clock = VirtualClock(NOON + timedelta(days=1))
        empty = make_store(f"sqlite:///{tmp_path}/empty.db")
        await empty.open()
        # The move compares both stores row by row.
        watching = LivenessCheck(clock)
        moved = await move_store(NamedStore("restored", copy), NamedStore("empty", empty), watching)
        assert moved.parts[Part.TASKS].item_count == len(found)
        await copy.close()
        await empty.close()


async def all_tasks(store: RedisStore) -> Any:
    after: str | None = None
    while True:
        page = await store.tasks(TaskFilter(), after, 500)
        for facts in page.items:
            yield facts
        after = page.after
        if after is None:
            return


async def test_interrupted_backup_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "horae.rdb"
    path.write_bytes(b"older backup")
    with RedisServer(settings={**AT_ONCE, "rdbcompression": "no"}) as server:
        store = RedisStore(server.new_database())
        await store.open()
        # More than the buffers between both processes hold.
        server.ask("EVAL", "for n = 1, 3000 do redis.call('SET', n, string.rep('x', 10000)) end", "0")

        async def cut(reader: asyncio.StreamReader, mark: bytes) -> Any:
            yield await reader.read(20)
            await asyncio.to_thread(server.kill)
            async for chunk in read(reader, mark):
                yield chunk

        read = backup._read_until_mark
        monkeypatch.setattr(backup, "_read_until_mark", cut)
        with pytest.raises(StoreUnavailable):
            await store.backup(str(path))
        await store.close()
    assert path.read_bytes() == b"older backup"
    assert [each.name for each in tmp_path.iterdir()] == ["horae.rdb"]


async def test_backup_of_a_cluster_is_moved_into_an_empty_one(tmp_path: Path) -> None:
    """The snapshot is that of the server that has the deployment; a server on the file is the source of the move."""
    path = tmp_path / "horae.rdb"
    with RedisCluster() as cluster:
        for server in cluster.servers:
            server.ask("CONFIG", "SET", "repl-diskless-sync-delay", "0")
        store = make_store(cluster.new_prefix())
        await store.open()
        await fill_store(store)
        before = await digests_of(store)
        await store.backup(str(path))
        await store.close()
        with RestoredServer(path) as restored:
            copy = make_store(f"{restored.url}?prefix=test1")
            empty = make_store(cluster.new_prefix())
            await copy.open()
            await empty.open()
            await move_everything(copy, empty)
            after = await digests_of(empty)
            # Marks rise when a store is opened.
            assert [part for part in Part if part is not Part.MARKS and after[part] != before[part]] == []
            assert await empty.check() == ()
            await empty.close()
            await copy.close()


async def test_login_without_the_right_to_copy_is_refused(tmp_path: Path) -> None:
    with RedisServer(settings=AT_ONCE) as server:
        store = RedisStore(server.new_database())
        await store.open()
        server.ask("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-sync", "-replconf")
        limited = RedisStore(store.url.replace("redis://", "redis://app:secret@"))
        await limited.open()
        with pytest.raises(StoreError, match=r"\+sync and \+replconf"):
            await limited.backup(str(tmp_path / "horae.rdb"))
        await limited.close()
        await store.close()
    cluster = RedisStore("redis+cluster://127.0.0.1:1")
    with pytest.raises(StoreUnavailable):
        await cluster.backup(str(tmp_path / "horae.rdb"))
    assert list(tmp_path.iterdir()) == []


async def test_command_writes_a_backup_while_a_node_runs(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    with RedisServer(settings=AT_ONCE) as server:
        url = server.new_database()
        async with Horae(url) as app:
            await app.service.lanes.limit(LOCAL, "garden", 3)
            made = await asyncio.to_thread(cli.process, "db", "backup", "horae.rdb", "--json", "--store", url)
            refused = await asyncio.to_thread(cli.process, "db", "backup", "horae.rdb", "--json", "--store", url)
            doctor = await asyncio.to_thread(cli.process, "doctor", "--json", "--store", url)
        assert made.code == 0, made.err
        assert made.json["bytes"] == (tmp_path / "horae.rdb").stat().st_size
        assert refused.problem["code"] == "file_exists"
        (check,) = [each for each in doctor.json["checks"] if each["check"] == "backup"]
        assert "db backup FILE" in check["message"]
    with RestoredServer(tmp_path / "horae.rdb") as restored:
        copy = restored.url_of(int(url.rpartition("/")[2]))
        listed = await asyncio.to_thread(cli.process, "lanes", "--json", "--store", copy)
        assert [(each["name"], each["limit"]) for each in listed.json] == [("garden", 3)]
