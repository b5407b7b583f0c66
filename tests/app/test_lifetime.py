"""Opening and closing an app: repeated, nested, failed, cancelled; afterwards no thread, file or run is left."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from horae import Conflict, Horae, StoreError
from horae.errors import StoreDamaged, UnknownStore
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.ports.store import RunFilter
from horae.virtual_time import VirtualClock
from tests.app.virtual_app import an_app


async def test_open_and_close_may_be_repeated(clock: VirtualClock) -> None:
    app = an_app(clock)
    ran: list[int] = []

    @app.task
    async def work(number: int) -> None:
        ran.append(number)

    for number in range(3):
        async with app:
            await (await app.schedule(work, "now", {"number": number})).wait()
        assert app.engine is None
    assert ran == [0, 1, 2]


async def test_nested_open_shares_the_engine_and_the_last_exit_closes(clock: VirtualClock) -> None:
    app = an_app(clock)

    @app.task
    async def work() -> str:
        return "done"

    async with app:
        engine = app.engine
        async with app:
            assert app.engine is engine
        assert app.engine is engine
        assert (await (await app.schedule(work, "now")).wait()).result == "done"
    with pytest.raises(Conflict):
        app.store  # noqa: B018 - the access itself raises
    await app.__aexit__(None, None, None)
    await app.end()


async def test_failed_open_leaves_the_app_closed(clock: VirtualClock) -> None:
    app = an_app(clock)

    def work(recipient: int) -> None: ...

    app.task("every 1h", name="work")(work)
    for _attempt in range(2):
        with pytest.raises(ValueError, match="recipient"):
            await app.__aenter__()
        with pytest.raises(Conflict):
            app.store  # noqa: B018 - the access itself raises
        assert app.engine is None


async def test_damaged_store_fails_to_open_and_leaves_no_thread(tmp_path: Path) -> None:
    (tmp_path / "horae.db").write_text("this is no database, and long enough to be sure of it" * 50)

    app = Horae(f"sqlite:///{tmp_path}/horae.db")
    with pytest.raises(StoreError):
        await app.__aenter__()
    for thread in threading.enumerate():
        if thread.name.startswith("horae"):
            thread.join(60)
            assert not thread.is_alive()


async def test_unknown_store_is_refused() -> None:
    with pytest.raises(UnknownStore) as refusal:
        async with Horae("mongodb://here"):
            pass
    assert refusal.value.code == "unknown_store"


async def test_close_releases_active_runs_to_the_next_app(tmp_path: Path) -> None:
    """On a real file and in real time: the second app runs the second attempt."""
    url = f"sqlite:///{tmp_path}/horae.db"

    begun, attempts = asyncio.Event(), list[int]()

    async def work() -> str:
        attempts.append(1)
        begun.set()
        if len(attempts) == 1:
            await asyncio.get_running_loop().create_future()
        return "in the end"

    def app() -> Horae:
        made = Horae(url)
        made.settings = replace(made.settings, grace=timedelta(0))
        made.task(name="work")(work)
        return made

    async with (first := app()):
        handle = await first.schedule("work", "now")
        await begun.wait()
    async with (second := app()):
        run = await second.wait_for(handle.id, timeout=60)
        lost = (await second.service.runs.page(second.who, RunFilter(task_id=handle.id))).items[-1]
    assert (run.state, run.attempt, run.result) == (RunState.SUCCEEDED, 2, "in the end")
    assert (lost.state, lost.reason) == (RunState.LOST, Reason.RELEASED)


async def test_close_leaves_no_files_and_no_threads(tmp_path: Path) -> None:
    app = Horae(f"sqlite:///{tmp_path}/horae.db")

    @app.task
    def work() -> int:
        return 1

    async with app:
        await (await app.schedule(work, "now")).wait(timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["horae.db"]
    assert [each.name for each in threading.enumerate() if each.name.startswith(("horae-keeper", "horae-sqlite"))] == []


def writer_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "sqlite-writer" in thread.name]


async def test_cancelled_open_leaves_no_thread(tmp_path: Path) -> None:
    for _ in range(5):
        opening = asyncio.ensure_future(Horae(f"sqlite:///{tmp_path}/horae.db").__aenter__())
        while not writer_threads():
            await asyncio.wait([asyncio.ensure_future(asyncio.to_thread(lambda: None))])
        opening.cancel()
        await asyncio.wait([opening])
        if not opening.cancelled():
            await opening.result().__aexit__(None, None, None)
        assert writer_threads() == []


async def test_damaged_store_fails_to_open_and_leaves_no_open_file(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no database, but long enough to be taken for one by its size alone" * 100)

    for _ in range(3):
        with pytest.raises(StoreDamaged):
            async with Horae(f"sqlite:///{file}"):
                raise AssertionError
    assert [each for each in open_files() if each == str(file)] == []


def open_files() -> list[str]:
    """Return the paths of the open files, where `/proc` lists them."""
    folder = Path("/proc/self/fd")
    return [str(each.resolve()) for each in folder.iterdir()] if folder.exists() else []
