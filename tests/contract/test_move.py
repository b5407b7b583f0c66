"""`horae move` between SQLite, PostgreSQL and Redis preserves every row, and a killed move is resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from horae.model.change import Change
from horae.ports.full_store import FullStore
from horae.ports.journal import Line
from horae.ports.store import TaskFilter
from horae.ports.transfer import Part
from horae.runtime import make_store
from horae.testing.contracts.stores.setup import read_all
from horae.testing.contracts.stores.writes.sample_contents import fill_store
from horae.testing.contracts.stores.writes.transfer import move_everything, read_all_parts
from horae.testing.decisions import always
from horae.testing.factories import DAY, MINUTE, NOON, a_new_task, a_task, an_ended_run, an_entry, an_event
from tests.servers.postgres import PostgresServer

EVENTS = 2_500
TASKS = 1_000


@pytest.fixture
def server_url(postgres_server: PostgresServer) -> Iterator[str]:
    url = postgres_server.new_database()
    yield url
    postgres_server.drop_database(url)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[FullStore]:
    store = make_store(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def append_events(store: FullStore, number: int) -> None:
    task = (await store.tasks(TaskFilter())).items[0].task
    await store.change(task.id, None, always(Change(events=(an_event(task),) * number)))


async def test_move_to_postgres_and_back_preserves_every_row(server_url: str, tmp_path: Path) -> None:
    async with (
        opened(f"sqlite:///{tmp_path}/one.db") as one,
        opened(server_url) as server,
        opened(f"sqlite:///{tmp_path}/two.db") as two,
    ):
        await fill_store(one)
        await append_events(one, EVENTS)
        await move_everything(one, server)
        assert await read_all_parts(server) == await read_all_parts(one)
        assert await read_all(server) == await read_all(one)
        await move_everything(server, two)
        assert await read_all_parts(two) == await read_all_parts(one)
        assert await server.check() == await two.check() == ()


async def test_move_to_redis_and_to_postgres_preserves_every_row(
    redis_url: str, server_url: str, tmp_path: Path
) -> None:
    async with opened(f"sqlite:///{tmp_path}/one.db") as one, opened(redis_url) as redis, opened(server_url) as server:
        await fill_store(one)
        await append_events(one, EVENTS)
        await move_everything(one, redis)
        assert await read_all_parts(redis) == await read_all_parts(one)
        assert await read_all(redis) == await read_all(one)
        await move_everything(redis, server)
        assert await read_all_parts(server) == await read_all_parts(one)
        assert await redis.check() == await server.check() == ()


async def test_moved_event_log_is_read_from_any_number_trimmed_and_continued(server_url: str, tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/one.db") as one, opened(server_url) as server:
        await fill_store(one)
        await append_events(one, EVENTS)
        await move_everything(one, server)
        await append_events(server, 3)
        last = await one.last_event()
        whole = [event.number for event in await server.events(0, 10_000)]
        assert whole == list(range(1, last + 4))
        for after in (0, 1, 1_022, 1_023, 1_024, 1_025, 2_047, 2_048, last - 1, last, last + 1, last + 3):
            assert [event.number for event in await server.events(after, 10_000)] == whole[after:]
            assert [event.number for event in await server.events(after, 7)] == whole[after : after + 7]
        trimmed = await server.trim(NOON + DAY, 100, 1_500)
        while trimmed.more:
            trimmed = await server.trim(NOON + DAY, 100, 1_500, trimmed.after)
        assert await server.events(0) == ()
        await append_events(server, 1)
        assert [event.number for event in await server.events(0)] == [last + 4]


async def test_nul_characters_do_not_stop_a_move(server_url: str, tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/one.db") as one, opened(server_url) as server:
        task = a_task()
        run = an_ended_run(task, error="before\0after", result_json='"x"')
        await one.add([a_new_task(task, runs=[run])])
        await one.write_lines([Line(run.id, NOON, "output", "\0")])
        await move_everything(one, server)
        found = await server.run(run.id, None)
        assert found == run._replace(error="before\ufffdafter")
        assert [each.line.text for each in await server.lines(run.id)] == ["\ufffd"]


async def create_large_file(url: str) -> None:
    async with opened(url) as store:
        tasks = [a_task(key=f"key {place}") for place in range(TASKS)]
        await store.add(
            [
                a_new_task(
                    task,
                    entries=[an_entry(task, due=NOON + 10_000 * DAY)],
                    runs=[an_ended_run(task, planned=NOON - place * MINUTE) for place in range(2)],
                )
                for task in tasks
            ]
        )


def command(folder: Path, source: str, target: str) -> subprocess.Popen[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HORAE_", "LC_"))}
    homes = {name: str(folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    return subprocess.Popen(
        [sys.executable, "-m", "horae", "move", source, target],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**inherited, **homes, "LANG": "C.UTF-8"},
    )


@pytest.mark.parametrize("towards", ["server", "file"])
async def test_killed_move_is_resumed(server_url: str, tmp_path: Path, towards: str) -> None:
    file, large = f"sqlite:///{tmp_path}/one.db", f"sqlite:///{tmp_path}/large.db"
    source, target = (large, server_url) if towards == "server" else (server_url, file)
    await create_large_file(large)
    if towards == "file":
        assert _moved_counts(command(tmp_path, large, server_url))["tasks"] == TASKS
    for words in ("copying", "comparing"):
        process = command(tmp_path, source, target)
        assert process.stderr is not None
        assert any(words in line for line in process.stderr)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    assert _moved_counts(command(tmp_path, source, target))["tasks"] == TASKS

    async with opened(source) as one, opened(target) as two:
        assert await read_all_parts(one, 1_000) == await read_all_parts(two, 1_000)
        assert len((await read_all_parts(two, 1_000))[Part.RUNS]) == 2 * TASKS
        assert await two.check() == ()


def _moved_counts(process: subprocess.Popen[str]) -> dict[str, int]:
    """Wait for the end, and return the printed count of each part."""
    out, err = process.communicate()
    assert process.returncode == 0, err
    rows = [line.split() for line in out.splitlines()]
    return {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[1].isdecimal()}
