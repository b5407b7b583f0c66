"""Writers of several processes take turns: one that begins again and again does not keep the others waiting."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

from horae.clock import SystemClock
from horae.stores.sqlite.connection import SqliteConnection
from horae.stores.sqlite.file_lock import FileLock


def _link(path: Path) -> SqliteConnection:
    return SqliteConnection(str(path), clock=SystemClock(), cache_kilobytes=256, file_lock=FileLock(str(path)))


def test_who_waits_is_next_however_often_the_other_begins(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    busy = _link(path)
    busy.query("PRAGMA journal_mode = WAL")
    busy.query("CREATE TABLE t (x)")
    waiting, is_in = Event(), Event()
    began: list[int] = []

    def come() -> None:
        other = _link(path)
        waiting.set()
        other.begin()
        is_in.set()
        other.query("COMMIT")
        other.close()

    busy.begin()
    thread = Thread(target=come)
    thread.start()
    waiting.wait()
    while not is_in.is_set():
        began.append(1)
        busy.query("INSERT INTO t VALUES (1)")
        busy.query("COMMIT")
        busy.begin()
    busy.query("COMMIT")
    thread.join()
    busy.close()
    # It may take a few rounds until the other stands in the gate at all; without one it takes hundreds.
    assert len(began) < 100


def test_somebody_who_stays_in_the_gate_stops_nobody(tmp_path: Path) -> None:
    path = str(tmp_path / "horae.db")
    stuck, other = FileLock(path), FileLock(path)
    with stuck.hold(), other.hold(), other.hold():
        pass
    with other.hold():
        pass
    other.close()
    stuck.close()


def test_where_there_is_no_folder_nobody_waits() -> None:
    nowhere = FileLock("/nonexistent/folder/horae.db")
    with nowhere.hold():
        pass
    nowhere.close()
