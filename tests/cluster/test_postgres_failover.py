"""Failover of PostgreSQL to a standby while nodes run: they go on at the new primary, and nothing acknowledged is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.scenario import LOCAL_NODE, effects, last_instant, once_per_instant, steady_series
from tests.cluster.steady_client import SteadyClient
from tests.faults.client import add
from tests.faults.functions import FOLDER
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, marks, one_shot, violations
from tests.faults.store_snapshot import query, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.servers.ports import HOST
from tests.servers.postgres import PostgresServer
from tests.servers.postgres_standby import PostgresStandby, require_synchronous_standby, wait_for_standby

DATABASE: Final = "horae_failover"
BACK_SECONDS: Final = 2.0
"""From the moment the new primary takes writes to the next effect."""


class Pair:
    """A primary and its standby, and the address that names both."""

    def __init__(self) -> None:
        self.primary = PostgresServer(in_memory=True)
        self.standby = PostgresStandby(self.primary, in_memory=True)

    def start(self) -> None:
        self.primary.start()
        self.primary.ask(f"CREATE DATABASE {DATABASE}")
        self.standby.start()
        wait_for_standby(self.primary)

    def stop(self) -> None:
        self.standby.stop()
        self.primary.stop()

    @property
    def url(self) -> str:
        hosts = f"{HOST}:{self.primary.port},{HOST}:{self.standby.port}"
        return f"postgresql://postgres@{hosts}/{DATABASE}?target_session_attrs=read-write"


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def testbed(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Testbed:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return Testbed(tmp_path, pair.url)


@pytest.mark.parametrize("outage", ["killed", "frozen"])
def test_nodes_go_on_at_the_promoted_synchronous_standby(
    testbed: Testbed, pair: Pair, workers: Workers, measured: Measure, outage: str
) -> None:
    require_synchronous_standby(pair.primary)
    for _ in range(2):
        workers.ready(**LOCAL_NODE)
    (steady,) = add(testbed, steady_series(5.0 if outage == "killed" else 10.0))
    with SteadyClient(testbed) as client:
        wait_until(has_marks(testbed, "effect", 5), TIMEOUT, "a few effects")
        (pair.primary.freeze if outage == "frozen" else pair.primary.kill)()
        wait_until(lambda: client.errors > 0, TIMEOUT, "an error of the client")
        before = len(marks(testbed, "effect"))
        pair.standby.promote()
        limit = BACK_SECONDS if outage == "killed" else TIMEOUT
        back = wait_until(has_marks(testbed, "effect", before + 1), limit, "the first effect after the promotion")
        measured(f"PostgreSQL {outage}, from the promotion to the next effect", back)
        acknowledged = len(client.acknowledged)
        wait_until(lambda: len(client.acknowledged) > acknowledged + 5, TIMEOUT, "tasks added at the new primary")
    due = (steady, *client.acknowledged)
    promoted = Testbed(testbed.folder, pair.standby.url_of(DATABASE))
    wait_until_quiet(promoted, last_instant(*due), TIMEOUT)
    assert violations(promoted, *due) == []
    if outage == "killed":
        known = once_per_instant(*due)
        assert {key: times for key, times in effects(testbed).items() if key in known} == known
    if outage == "frozen":
        pair.primary.kill()


def test_asynchronous_standby_loses_what_it_had_not_received(testbed: Testbed, pair: Pair, workers: Workers) -> None:
    """The loss that `horae doctor` warns of: tasks that were acknowledged while the standby did not listen."""
    worker = workers.ready(**LOCAL_NODE)
    (kept,) = add(testbed, one_shot())
    wait_until(has_marks(testbed, "effect"), TIMEOUT, "the effect")
    written = pair.primary.ask("SELECT pg_current_wal_lsn()")
    has_replayed = f"SELECT pg_last_wal_replay_lsn() >= '{written}'"
    wait_until(lambda: pair.standby.ask(has_replayed) == "t", TIMEOUT, "a standby that has replayed everything")
    os.kill(int(pair.primary.ask("SELECT pid FROM pg_stat_replication")), signal.SIGSTOP)
    lost = add(testbed, *[one_shot(seconds=3600)] * 3)
    pair.primary.kill()
    pair.standby.promote()
    (after,) = add(testbed, one_shot())
    wait_until(has_marks(testbed, "effect", 2), TIMEOUT, "the effect of a task that was added at the new primary")
    there = {task for (task,) in query(testbed, "SELECT id FROM tasks")}
    assert {kept.task, after.task} <= there
    assert not there & {task.task for task in lost}
    assert worker.alive
