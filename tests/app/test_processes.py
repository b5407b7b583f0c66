"""Several processes on one file: what one of them adds, another one runs, at once where it is rung for."""

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

PATIENCE = 120
DEAF = EngineSettings(terms=Terms(lease=timedelta(hours=1), poll_ceiling=timedelta(hours=1)))
"""Without a ring, an engine with these settings would not look again before an hour has passed."""

_ADDS = """
import asyncio, sys
from horae import Horae

async def add() -> None:
    app = Horae(sys.argv[1], engine=False)
    app.task(name="work")(lambda: None)
    async with app:
        print((await app.schedule("work", sys.argv[2])).id)

asyncio.run(add())
"""
_CANCELS = """
import asyncio, sys
from horae import Horae

async def cancel() -> None:
    async with Horae(sys.argv[1], engine=False) as app:
        await app.service.tasks.cancel(app.who, sys.argv[2])

asyncio.run(cancel())
"""


async def another_process(script: str, *arguments: str) -> str:
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


@pytest.mark.skipif(sys.platform == "win32", reason="there is no ring there, and polling finds it")
async def test_what_another_process_adds_starts_without_waiting_for_a_poll(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        url = f"sqlite:///{tmp_path}/horae.db"
        app, ran = an_app(url, DEAF)
        async with app:
            task_id = await another_process(_ADDS, url, "now")
            await ran.wait()
            run = await app.wait_for(task_id)
            assert run.state is RunState.SUCCEEDED


@pytest.mark.skipif(sys.platform == "win32", reason="there is no ring there, and polling finds it")
async def test_what_another_process_cancels_ends_without_waiting_for_a_renewal(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        url = f"sqlite:///{tmp_path}/horae.db"
        app, begun = Horae(url, settings=DEAF), asyncio.Event()

        @app.task
        async def endless() -> None:
            begun.set()
            await asyncio.get_running_loop().create_future()

        async with app:
            handle = await app.schedule(endless, "now")
            await begun.wait()
            await another_process(_CANCELS, url, handle.id)
            assert (await handle.wait()).state is RunState.CANCELLED


async def test_polling_works_without_any_ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HORAE_WAKE", "poll")

    async with asyncio.timeout(PATIENCE):
        url = f"sqlite:///{tmp_path}/horae.db"
        often = replace(DEAF, terms=DEAF.terms._replace(poll_ceiling=timedelta(seconds=0.5)))
        app, ran = an_app(url, often)
        async with app:
            assert not (tmp_path / f"horae.db{SUFFIX}").exists()
            await another_process(_ADDS, url, "now")
            await ran.wait()
            ran.clear()
            await app.schedule("work", "now")
            await ran.wait()


async def test_two_apps_on_one_file_run_each_occurrence_once(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
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
