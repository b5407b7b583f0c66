"""Several processes on one SQLite file: a task added or cancelled by one process reaches the engine of another at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from horae import Horae
from horae.engine.settings import EngineSettings
from horae.model.run import RunState
from horae.ports.store import RunFilter, Terms
from horae.stores.sqlite.wakeup import SUFFIX

TIMEOUT_SECONDS = 120
NO_POLLING = EngineSettings(terms=Terms(lease=timedelta(hours=1), poll_ceiling=timedelta(hours=1)))
"""An engine with these settings polls once an hour, so only a notification makes it look earlier."""

_ADD_SCRIPT = """
import asyncio, sys
from horae import Horae

async def add() -> None:
    app = Horae(sys.argv[1], engine=False)
    app.task(name="work")(lambda: None)
    async with app:
        print((await app.schedule("work", sys.argv[2])).id)

asyncio.run(add())
"""
_CANCEL_SCRIPT = """
import asyncio, sys
from horae import Horae

async def cancel() -> None:
    async with Horae(sys.argv[1], engine=False) as app:
        await app.service.tasks.cancel(app.who, sys.argv[2])

asyncio.run(cancel())
"""


async def run_in_process(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    done = await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def an_app(url: str, settings: EngineSettings) -> tuple[Horae, asyncio.Event]:
    app, ran = Horae(url, zone="UTC", settings=settings), asyncio.Event()

    @app.task(name="work")
    async def work() -> str:
        ran.set()
        return "done"

    return app, ran


@pytest.mark.skipif(sys.platform == "win32", reason="no socket notifications there, polling only")
async def test_task_added_by_another_process_starts_without_waiting_for_a_poll(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        url = f"sqlite:///{tmp_path}/horae.db"
        app, ran = an_app(url, NO_POLLING)
        async with app:
            task_id = await run_in_process(_ADD_SCRIPT, url, "now")
            await ran.wait()
            run = await app.wait_for(task_id)
            assert run.state is RunState.SUCCEEDED


@pytest.mark.skipif(sys.platform == "win32", reason="no socket notifications there, polling only")
async def test_run_cancelled_by_another_process_ends_without_waiting_for_a_renewal(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        url = f"sqlite:///{tmp_path}/horae.db"
        app, begun = Horae(url, settings=NO_POLLING), asyncio.Event()

        @app.task
        async def endless() -> None:
            begun.set()
            await asyncio.get_running_loop().create_future()

        async with app:
            handle = await app.schedule(endless, "now")
            await begun.wait()
            await run_in_process(_CANCEL_SCRIPT, url, handle.id)
            assert (await handle.wait()).state is RunState.CANCELLED


async def test_polling_works_without_notifications(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HORAE_WAKE", "poll")

    async with asyncio.timeout(TIMEOUT_SECONDS):
        url = f"sqlite:///{tmp_path}/horae.db"
        often = replace(NO_POLLING, terms=NO_POLLING.terms._replace(poll_ceiling=timedelta(seconds=0.5)))
        app, ran = an_app(url, often)
        async with app:
            assert not (tmp_path / f"horae.db{SUFFIX}").exists()
            await run_in_process(_ADD_SCRIPT, url, "now")
            await ran.wait()
            ran.clear()
            await app.schedule("work", "now")
            await ran.wait()


async def test_two_apps_on_one_file_run_each_occurrence_once(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        url = f"sqlite:///{tmp_path}/horae.db"
        ran: list[str] = []

        def app(name: str) -> Horae:
            made = Horae(url)

            @made.task(name="work")
            async def work(number: int) -> None:
                ran.append(f"{name}/{number}")

            return made

        first, second = app("one"), app("two")
        async with first, second:
            handles = await first.schedule_many([("work", "now", {"number": n}) for n in range(300)])
            await asyncio.gather(*(second.wait_for(handle.id) for handle in handles))
            rows = (await second.store.runs(RunFilter(), limit=1_000)).items
        assert sorted(int(each.partition("/")[2]) for each in ran) == list(range(300))
        assert {run.state for run in rows} == {RunState.SUCCEEDED}
        assert len(rows) == 300
