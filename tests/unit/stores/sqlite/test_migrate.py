"""Migrations on SQLite: private new files, upgrades, and refusal of foreign or newer files."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources
from pathlib import Path

import apsw
import pytest

from horae.errors import StoreDamaged, StoreUnavailable
from horae.stores.sqlite import SQLiteStore, migrate
from horae.stores.sqlite.migrate import APPLICATION_ID, migrations
from tests.unit.stores.sqlite.store_setup import open_store

OPEN_IN_A_PROCESS = """
import asyncio, sys
from horae.stores.sqlite import SQLiteStore
async def main():
    store = SQLiteStore(sys.argv[1])
    sys.stdin.readline()
    await store.open()
    await store.write_metadata("who", sys.argv[2])
    await store.close()
asyncio.run(main())
"""


async def open_and_close(path: Path) -> None:
    async with open_store(path):
        pass


def tables(connection: apsw.Connection) -> set[tuple[str, str, str]]:
    rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_schema").fetchall()
    return {(str(kind), str(name), " ".join(str(text).split())) for kind, name, text in rows}


def test_migrations_produce_the_schema() -> None:
    migrated, written = apsw.Connection(""), apsw.Connection("")
    for _, script in migrations():
        migrated.execute(script)
    written.execute(resources.files("horae.stores.sqlite").joinpath("schema.sql").read_text(encoding="utf-8"))
    assert tables(migrated) == tables(written)
    assert {name for _, name, _ in tables(written)} >= {"tasks", "agenda", "runs", "events"}


def test_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


async def test_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"

    files = [path, Path(f"{path}-wal"), Path(f"{path}-shm")]
    modes: dict[str, str] = {}
    async with open_store(path) as store:
        await store.write_metadata("a", "b")
        modes.update({file.name: oct(file.stat().st_mode & 0o777) for file in files})
    assert modes == dict.fromkeys(["horae.db", "horae.db-wal", "horae.db-shm"], "0o600")
    assert [file.name for file in tmp_path.iterdir()] == ["horae.db"]


async def test_file_of_another_program_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    apsw.Connection(str(path)).execute("CREATE TABLE theirs (a); PRAGMA user_version = 1")
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="another program"):
        await open_and_close(path)
    assert path.read_bytes() == before


async def test_file_that_is_no_database_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader, " * 1_000)
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="not a store of Horae"):
        await open_and_close(path)
    assert path.read_bytes() == before


async def test_newer_file_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    await open_and_close(path)
    with apsw.Connection(str(path)) as connection:
        connection.execute("PRAGMA user_version = 9999")
    with pytest.raises(StoreDamaged, match="newer Horae"):
        await open_and_close(path)
    assert apsw.Connection(str(path)).execute("PRAGMA user_version").fetchall() == [(9999,)]


async def test_older_file_is_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "horae.db"
    await open_and_close(path)
    known = migrations()
    later = (len(known) + 1, "CREATE TABLE later (a INTEGER) STRICT;")
    monkeypatch.setattr(migrate, "migrations", lambda: [*known, later])
    await open_and_close(path)
    connection = apsw.Connection(str(path))
    assert ("later",) in connection.execute("SELECT name FROM sqlite_schema").fetchall()
    assert connection.execute("PRAGMA user_version").fetchall() == [(later[0],)]


async def test_failed_migration_leaves_the_file_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "horae.db"
    await open_and_close(path)
    known = migrations()
    monkeypatch.setattr(migrate, "migrations", lambda: [*known, (len(known) + 1, "CREATE TABLE half (a); NONSENSE;")])
    with pytest.raises(StoreUnavailable):
        await open_and_close(path)
    connection = apsw.Connection(str(path))
    assert ("half",) not in connection.execute("SELECT name FROM sqlite_schema").fetchall()
    assert connection.execute("PRAGMA user_version").fetchall() == [(len(known),)]


async def test_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    path.touch()
    await open_and_close(path)
    assert apsw.Connection(str(path)).execute("PRAGMA application_id").fetchall() == [(APPLICATION_ID,)]


async def test_missing_folder_is_refused_until_it_exists(tmp_path: Path) -> None:
    folder = tmp_path / "nowhere"

    store = SQLiteStore(folder / "horae.db")
    with pytest.raises(StoreUnavailable):
        await store.open()
    with pytest.raises(StoreUnavailable):
        await store.read_metadata("a")
    folder.mkdir()
    await store.open()
    await store.write_metadata("a", "b")
    await store.close()


def open_in_processes(path: Path, count: int) -> list[int]:
    """Open the file in `count` processes at once; return their exit codes."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_IN_A_PROCESS, str(path), str(number)], stdin=subprocess.PIPE, text=True
        )
        for number in range(count)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("now\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
    return [process.returncode for process in processes]


async def test_processes_open_a_new_file_concurrently(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    assert open_in_processes(path, 6) == [0] * 6
    async with open_store(path) as store:
        assert await store.read_metadata("who") in set(map(str, range(6)))
        assert await store.check() == ()


async def test_open_and_close_are_idempotent(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "horae.db")
    await store.open()
    await store.open()
    await store.write_metadata("a", "b")
    await store.close()
    await store.close()
    for call in (store.write_metadata("a", "c"), store.read_metadata("a"), store.open()):
        with pytest.raises(StoreUnavailable):
            await call
