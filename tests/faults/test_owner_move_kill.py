"""kill -9 of the move of an owner at every step, with nodes at work in both deployments: nothing is lost or fired twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from horae.cli.messages.move_messages import OWNER_STEPS
from horae.ports.full_store import FullStore
from horae.ports.store import TaskFilter
from tests.faults import ledger
from tests.faults.checker import find_violations
from tests.faults.client import RUN_EVERY_INSTANT, TaskRequest, add, call_app, from_now
from tests.faults.oracle import Due, Series
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT
from tests.faults.store_snapshot import Snapshot, check_store, read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

EVERY: Final = timedelta(milliseconds=250)
TIMES: Final = 60
OWNERS: Final = {"ada": "north", "bob": "north", "cyd": "south"}
STORES: Final = (("sqlite", "sqlite"), ("sqlite", "postgres"), ("postgres", "redis"))


class Deployments:
    """Two deployments whose functions write to one ledger."""

    def __init__(self, north: Testbed, south: Testbed) -> None:
        self.north = north
        self.south = south
        self.workers = (Workers(north), Workers(south))

    def testbed_of(self, owner: str) -> Testbed:
        return self.north if OWNERS[owner] == "north" else self.south

    def effects(self, due: Due) -> int:
        return sum(mark.task == due.task and mark.phase == "effect" for mark in ledger.read(self.north.ledger))

    def move(self) -> subprocess.Popen[str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HORAE_", "LC_"))}
        homes = {name: str(self.north.folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        return subprocess.Popen(
            [sys.executable, "-m", "horae", "move", self.north.url, self.south.url, "--owner", "ada"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**inherited, **homes, "LANG": "C.UTF-8"},
        )


@pytest.fixture(params=STORES, ids="-to-".join)
def deployments(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Deployments]:
    monkeypatch.setenv("HORAE_FAULTS_FOLDER", str(tmp_path))
    servers: list[tuple[PostgresServer, str]] = []

    def make_url(kind: str, name: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/{name}.db"
        if kind == "redis":
            redis: RedisServer = request.getfixturevalue("redis_server")
            return redis.new_database()
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.new_database()
        servers.append((server, url))
        return url

    north, south = (
        Testbed(tmp_path, make_url(kind, name)) for kind, name in zip(request.param, ("north", "south"), strict=True)
    )
    made = Deployments(north, south)
    try:
        yield made
    finally:
        for workers in made.workers:
            workers.clean_up()
        for server, url in servers:
            server.drop_database(url)


def test_killed_at_every_step(deployments: Deployments) -> None:
    for workers in deployments.workers:
        workers.ready()
    first, south = from_now(1), deployments.south
    due = {owner: _add(deployments, owner, Series(first, EVERY, TIMES)) for owner in OWNERS}
    wait_until(lambda: deployments.effects(due["ada"]) >= 3, TIMEOUT, "runs of ada at the source")
    before = {owner: deployments.effects(due[owner]) for owner in OWNERS}
    for step in OWNER_STEPS.values():
        _kill_at(deployments, step.en.format(owner="ada"))
    process = deployments.move()
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    after = {owner: deployments.effects(due[owner]) for owner in OWNERS}
    assert after["bob"] > before["bob"] + 3
    assert after["cyd"] > before["cyd"] + 3
    for testbed in (deployments.north, south):
        wait_until_quiet(testbed, first + EVERY * TIMES, TIMEOUT)

    marks = ledger.read(south.ledger)
    for owner, testbed in {**{name: deployments.testbed_of(name) for name in OWNERS}, "ada": south}.items():
        own = tuple(mark for mark in marks if mark.task == due[owner].task)
        assert find_violations([due[owner]], own, _snapshot_of(deployments, testbed, due[owner])) == [], owner
        assert set(Counter(mark.key for mark in own if mark.phase == "effect").values()) == {1}, owner
        assert len({mark.planned for mark in own}) == len(due[owner].instants), owner
    assert [*check_store(deployments.north), *check_store(south)] == []
    assert _tasks_of(deployments.north, "ada") == 0


def _add(deployments: Deployments, owner: str, series: Series) -> Due:
    request = TaskRequest("note", series, options=RUN_EVERY_INSTANT, owner=owner)
    return add(deployments.testbed_of(owner), request)[0]


def _kill_at(deployments: Deployments, words: str) -> None:
    """Start the move, and kill it as soon as it begins this step; a step that is behind it is not repeated."""
    process = deployments.move()
    assert process.stderr is not None
    if any(words in line for line in process.stderr):
        process.kill()
    process.communicate()
    assert process.returncode in (0, -signal.SIGKILL)


def _snapshot_of(deployments: Deployments, testbed: Testbed, due: Due) -> Snapshot:
    """Return what a deployment holds of one task; the events of moved runs stay in the log of the source."""
    snapshots = [read_snapshot(each) for each in (deployments.north, deployments.south)]
    rows = tuple(row for row in read_snapshot(testbed).rows if row.task == due.task)
    runs = {row.run for row in rows}
    return Snapshot(rows, tuple(event for each in snapshots for event in each.events if event[0] in runs))


def _tasks_of(testbed: Testbed, owner: str) -> int:
    async def count(app: object) -> int:
        store: FullStore = app.store  # type: ignore[attr-defined]
        return await store.count_tasks(TaskFilter(owner), 10)

    return call_app(testbed, count)
