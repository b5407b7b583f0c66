"""`app.sync()`: the app for code without an event loop, usable from any thread."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from horae import Conflict, Horae
from horae.model.run import RunState
from horae.model.task import TaskState

TIMEOUT = "60s"


def test_blocking_app_schedules_waits_and_reads_without_an_event_loop(tmp_path: Path) -> None:
    app = Horae(f"sqlite:///{tmp_path}/horae.db")

    @app.task
    def add(one: int, other: int = 1) -> int:
        return one + other

    with app.sync() as horae:
        task = horae.schedule(add, "now", {"one": 2}, name="sum")
        assert task.wait(TIMEOUT).value == 3
        assert "succeeded" in str(task.why())
        again = horae.get("sum").run_now(TIMEOUT)
        assert again is not None
        assert again.state is RunState.SUCCEEDED
        daily = horae.schedule(add, "every day at 9:00", {"one": 1}, labels={"kind": "daily"})
        assert [each.id for each in horae.tasks(labels={"kind": "daily"})] == [daily.id]
        daily.pause("holidays")
        assert daily.state() is TaskState.PAUSED
        daily.resume()
        assert len(daily.next(3)) == 3
        assert daily.edit(when="every day at 10:00").after.version == 2
        daily.cancel()
        daily.delete()
    with pytest.raises(Conflict) as refusal:
        horae.tasks()
    assert refusal.value.code == "not_open"


def test_blocking_app_is_used_by_many_threads(tmp_path: Path) -> None:
    with Horae(f"sqlite:///{tmp_path}/horae.db", engine=False).sync() as horae:
        threads = [threading.Thread(target=horae.schedule, args=({"say": "x"}, "in 1h")) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(horae.tasks()) == 8


def test_blocking_app_that_fails_to_open_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    (tmp_path / "horae.db").write_text("no database" * 500)
    with pytest.raises(Exception, match="not a store"), Horae(f"sqlite:///{tmp_path}/horae.db").sync():
        pytest.fail("it must not open")
    left = set(threading.enumerate()) - before
    assert [thread.name for thread in left if thread.name.startswith("horae")] == []
