"""Fair lock between processes on one SQLite file: a busy writer does not starve others."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

from horae.clock import SystemClock
from horae.stores.sqlite.connection import SqliteConnection
from horae.stores.sqlite.file_lock import FileLock


def _link(path: Path) -> SqliteConnection:
    return SqliteConnection(str(path), clock=SystemClock(), cache_kilobytes=256, file_lock=FileLock(str(path)))


def test_waiting_process_gets_the_lock_before_a_busy_one(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    busy = _link(path)
    busy.query("PRAGMA journal_mode = WAL")
    busy.query("CREATE TABLE t (x)")
    waiting, acquired = Event(), Event()
    rounds: list[int] = []

    def take_lock() -> None:
        other = _link(path)
        waiting.set()
        other.begin()
        acquired.set()
        other.query("COMMIT")
        other.close()

    busy.begin()
    thread = Thread(target=take_lock)
    thread.start()
    waiting.wait()
    while not acquired.is_set():
        rounds.append(1)
        busy.query("INSERT INTO t VALUES (1)")
        busy.query("COMMIT")
        busy.begin()
    busy.query("COMMIT")
    thread.join()
    busy.close()
    # The other thread may need a few rounds to start waiting; without the lock it needs hundreds.
    assert len(rounds) < 100


def test_stuck_lock_holder_blocks_no_other_process(tmp_path: Path) -> None:
    path = str(tmp_path / "horae.db")
    stuck, other = FileLock(path), FileLock(path)
    with stuck.hold(), other.hold(), other.hold():
        pass
    with other.hold():
        pass
    other.close()
    stuck.close()


def test_lock_in_a_missing_folder_does_not_block() -> None:
    nowhere = FileLock("/nonexistent/folder/horae.db")
    with nowhere.hold():
        pass
    nowhere.close()
