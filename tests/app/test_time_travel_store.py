"""The store of TimeTravel: a temporary one in memory by default, the app's own store or a copy of it on request."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from horae import Conflict, Horae, InvalidTask, Refusal, TaskHandle
from horae.clock import SystemClock
from horae.model.counts import LATENESS_PREFIX, SUCCEEDED_COUNTER, hour_of
from horae.model.run import RunState
from horae.testing import TimeTravel
from tests.servers.postgres import PostgresServer

START = "2026-03-01 12:00"


def shop_app(url: str) -> Horae:
    app = Horae(url, zone="UTC")

    @app.task("every 1h", name="sync", retries=0, lane="sync")
    async def sync() -> str:
        return "synced"

    @app.task(name="mail")
    async def mail(address: str) -> str:
        return address

    return app


def digests(folder: Path) -> dict[str, str]:
    """Every file of a folder with the digest of its bytes."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def schedule_new_year(app: Horae) -> str:
    async with app:
        return (await app.schedule("mail", "2100-01-01 09:00", {"address": "ada"}, name="new year")).id


def create_store(app: Horae) -> str:
    """Open the app in real time without running anything of it; the id of its task for a year ahead."""
    app.configure(engine=False)
    try:
        return asyncio.run(schedule_new_year(app))
    finally:
        app.configure(engine=True)


async def next_due_of(app: Horae, name: str) -> object:
    async with app:
        return await (await app.get(name)).next_due()


def test_production_store_is_untouched_byte_for_byte(tmp_path: Path) -> None:
    app = shop_app(f"sqlite:///{tmp_path}/shop.db")
    create_store(app)
    before = digests(tmp_path)
    with TimeTravel(app, "2031-03-01 12:00") as time:
        time.travel("3h")
        assert len(time.ran("sync")) == 3
        assert time.run(time.run(app.schedule("mail", "now", {"address": "ada"})).wait()).state is RunState.SUCCEEDED
    assert digests(tmp_path) == before


def test_app_uses_its_own_store_and_the_real_clock_afterwards(tmp_path: Path) -> None:
    app = shop_app(f"sqlite:///{tmp_path}/shop.db")
    create_store(app)
    with TimeTravel(app, "2031-03-01 12:00") as time:
        time.travel("3h")
        assert [task.name for task in time.run(_tasks(app))] == ["sync"]
    assert isinstance(app.clock, SystemClock)
    assert asyncio.run(send_mail(app, "bob")) == (["new year", "sync"], "bob")


async def send_mail(app: Horae, address: str) -> tuple[list[str], str]:
    """The names of the tasks, and the result of one that runs at once."""
    async with app:
        names = sorted(task.name for task in await app.tasks())
        run = await (await app.schedule("mail", "now", {"address": address})).wait("30s")
        return names, run.value


async def _tasks(app: Horae) -> list[TaskHandle]:
    return list(await app.tasks())


def test_store_file_that_does_not_exist_is_not_created(tmp_path: Path) -> None:
    app = shop_app(f"sqlite:///{tmp_path}/missing/shop.db")
    with TimeTravel(app, START) as time:
        time.travel("2h")
        assert len(time.ran("sync")) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_unreachable_server_is_never_contacted(scheme: str) -> None:
    app = shop_app(f"{scheme}://user:secret@127.0.0.1:1/shop")
    with TimeTravel(app, START) as time:
        time.run(app.lane("sync", 1))
        time.travel("2h")
        time.crash()
        time.restart()
        time.travel("1h")
        assert len(time.ran("sync")) == 3


def test_one_app_travels_as_often_as_tests_need_it(tmp_path: Path) -> None:
    app = shop_app(f"sqlite:///{tmp_path}/shop.db")
    for _ in range(2):
        with TimeTravel(app, START) as time:
            time.travel("2h")
            assert len(time.ran("sync")) == 2


def test_app_is_restored_when_the_test_fails(tmp_path: Path) -> None:
    app = shop_app(f"sqlite:///{tmp_path}/shop.db")
    with pytest.raises(ZeroDivisionError), TimeTravel(app, START):
        _ = 1 // 0
    assert isinstance(app.clock, SystemClock)


def test_constructing_it_does_not_change_the_app(tmp_path: Path) -> None:
    app = shop_app(f"sqlite:///{tmp_path}/shop.db")
    TimeTravel(app, START)
    assert isinstance(app.clock, SystemClock)


def test_app_that_is_open_is_refused(tmp_path: Path) -> None:
    app = shop_app(f"sqlite:///{tmp_path}/shop.db")
    with app.sync(), pytest.raises(Conflict) as refusal, TimeTravel(app, START):
        pass
    assert refusal.value.code == "travel_app_open"


# --- the app's own store -------------------------------------------------------------------------------------------------


def test_own_store_is_used_on_request(tmp_path: Path) -> None:
    app = shop_app(f"sqlite:///{tmp_path}/shop.db")
    with TimeTravel(app, START, store="own") as time:
        time.travel("2h")
    with TimeTravel(shop_app(app.url), "2026-03-01 14:30", store="own") as time:
        assert len(time.ran("sync")) == 2


def test_own_store_drops_old_counters_by_virtual_time(tmp_path: Path) -> None:
    with TimeTravel(shop_app(f"sqlite:///{tmp_path}/shop.db"), "2101-03-01 12:00", store="own") as time:
        first = hour_of(time.now) + 1
        time.travel("50h")
        counts = time.run(time.app.store.counts(None, range(first, first + 50)))
    assert {hour for hour, name in counts if name.startswith(LATENESS_PREFIX)} == set(range(first + 2, first + 50))
    assert {hour for hour, name in counts if name == SUCCEEDED_COUNTER} == set(range(first, first + 50))


_WORKER = """
    import sys
    from horae import Horae

    app = Horae(sys.argv[1], zone="UTC")

    async def work() -> None:
        async with app:
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.read)

    import asyncio
    asyncio.run(work())
"""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[str]:
    """The URL of a store on which a node in another process is at work."""
    url = f"sqlite:///{tmp_path}/shop.db"
    command = [sys.executable, "-c", textwrap.dedent(_WORKER), url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield url
        process.communicate()


def test_own_store_with_a_node_at_work_is_refused(worker: str) -> None:
    app = shop_app(worker)
    with pytest.raises(Conflict) as refusal, TimeTravel(app, START, store="own"):
        pass
    assert refusal.value.code == "travel_store_in_use"
    assert "shop.db" in refusal.value.message
    assert isinstance(app.clock, SystemClock)


def test_own_store_on_a_server_with_a_node_at_work_is_refused() -> None:
    with PostgresServer() as server:
        url = server.new_database()
        with Horae(url, zone="UTC").sync():
            with pytest.raises(Conflict) as refusal, TimeTravel(shop_app(url), START, store="own"):
                pass
            assert refusal.value.code == "travel_store_in_use"
        with TimeTravel(shop_app(url), START, store="own") as time:
            time.travel("1h")
            assert len(time.ran("sync")) == 1


def test_unknown_word_for_the_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidTask) as refusal:
        TimeTravel(shop_app(f"sqlite:///{tmp_path}/shop.db"), START, store="real")  # type: ignore[arg-type]
    assert "memory, copy, own" in refusal.value.hint


# --- a copy of the contents ------------------------------------------------------------------------------------------------


def test_copy_holds_the_tasks_of_the_real_store_and_leaves_it_untouched(tmp_path: Path) -> None:
    app = shop_app(f"sqlite:///{tmp_path}/shop.db")
    task_id = create_store(app)
    before = digests(tmp_path)
    with TimeTravel(app, "2099-12-31 12:00", store="copy") as time:
        time.travel("1d")
        assert [run.value for run in time.runs("new year")] == ["ada"]
        assert time.run(app.get("new year")).id == task_id
    assert digests(tmp_path) == before


def test_copy_is_taken_while_a_node_works_on_a_file(worker: str) -> None:
    app = shop_app(worker)
    create_store(app)
    with TimeTravel(app, "2099-12-31 12:00", store="copy") as time:
        time.travel("1d")
        assert [run.value for run in time.runs("new year")] == ["ada"]
    assert next_year_is_ahead(app)


def next_year_is_ahead(app: Horae) -> bool:
    app.configure(engine=False)
    return str(asyncio.run(next_due_of(app, "new year"))).startswith("2100-01-01")


def test_copy_of_a_server_store() -> None:
    with PostgresServer() as server:
        app = shop_app(server.new_database())
        create_store(app)
        with TimeTravel(app, "2099-12-31 12:00", store="copy") as time:
            time.travel("1d")
            assert [run.value for run in time.runs("new year")] == ["ada"]
        assert next_year_is_ahead(app)


def test_joining_a_transaction_is_refused_in_memory(tmp_path: Path) -> None:
    app = shop_app(f"sqlite:///{tmp_path}/shop.db")
    with TimeTravel(app, START) as time, pytest.raises(Refusal) as refusal:
        time.run(app.schedule("mail", "now", {"address": "ada"}, using=object()))
    assert refusal.value.code == "no_shared_transaction"
