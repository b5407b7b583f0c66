"""Failover of a real Sentinel set under load: what was acknowledged and replicated is there, and tokens rise."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from horae.clock import SystemClock
from horae.doctor.database_checks import check_database_server
from horae.errors import StoreUnavailable, UnusableStore
from horae.runtime.durability import require_durable_store, warn_about_possible_loss
from horae.stores.redis import RedisStore
from horae.stores.redis.connections.status import read_status
from horae.testing.factories import a_new_task, a_task
from tests.cluster.soak.load import Load
from tests.cluster.test_redis_kills import has_acknowledged
from tests.faults import ledger
from tests.faults.checker import find_violations
from tests.faults.functions import FOLDER
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, marks
from tests.faults.store_snapshot import check_store, read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.servers.redis import RedisServer
from tests.servers.sentinel_set import SentinelSet
from tests.sizes import sized

FAILOVERS: Final = sized(1, soak=3)
LASTING_LEASE: Final[dict[str, Any]] = {"lease": 60.0, "ceiling": 10.0}
"""Longer than a failover: no run is taken from its node, so every repeated effect would be wrong."""
EPOCH_SHIFT: Final = 40


@pytest.fixture
def sentinel_set() -> Iterator[SentinelSet]:
    with SentinelSet() as made:
        yield made


@pytest.fixture
def testbed(sentinel_set: SentinelSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Testbed:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return Testbed(tmp_path, f"{sentinel_set.url}?wait_replicas=1")


def test_f17_failover_keeps_what_was_acknowledged_and_replicated(
    testbed: Testbed, workers: Workers, sentinel_set: SentinelSet, measured: Measure
) -> None:
    for _ in range(2):
        workers.ready(**LASTING_LEASE)
    load = Load(testbed, seed=3, longest=10, every=0.2)
    load.start()
    for _ in range(FAILOVERS):
        before = len(marks(testbed, "effect"))
        wait_until(has_marks(testbed, "effect", before + 20), TIMEOUT, "effects")
        former = sentinel_set.primary
        former.kill()
        began = SystemClock().steady()
        sentinel_set.wait_for_failover(former)
        measured("F17 Sentinel, to the new primary", SystemClock().steady() - began)
        done, acknowledged = len(marks(testbed, "effect")), len(load.acknowledged)
        wait_until(has_marks(testbed, "effect", done + 20), 2 * TIMEOUT, "effects at the new primary")
        measured("F17 Sentinel, from the kill to effects at the new primary", SystemClock().steady() - began)
        wait_until(has_acknowledged(load, acknowledged + 1), 2 * TIMEOUT, "acknowledged tasks at the new primary")
        former.start()
        wait_until(lambda: sentinel_set.count_replicas(sentinel_set.primary) == 2, 2 * TIMEOUT, "the former primary")
    load.stop(2 * TIMEOUT)
    wait_until_quiet(testbed, load.last, 4 * TIMEOUT)
    snapshot = read_snapshot(testbed)
    dues, missing = load.dues(snapshot.rows)
    assert missing == []
    assert find_violations(dues, ledger.read(testbed.ledger), snapshot) == []
    # An effect is repeated only by the retry of a lost run, which has the key of its occurrence.
    effects = Counter((mark.task, mark.planned) for mark in marks(testbed, "effect"))
    lost = {(row.task, row.planned) for row in snapshot.rows if row.state == "lost"}
    assert {each for each, times in effects.items() if times > 1} <= lost
    tokens = sorted({row.token for row in snapshot.rows if row.token})
    assert {token >> EPOCH_SHIFT for token in tokens} >= set(range(tokens[0] >> EPOCH_SHIFT, FAILOVERS + 2))
    assert check_store(testbed) == ()


async def test_commit_without_enough_replicas_is_not_acknowledged(
    sentinel_set: SentinelSet, caplog: pytest.LogCaptureFixture
) -> None:
    waiting, careless = f"{sentinel_set.url}?wait_replicas=2", sentinel_set.url
    store = RedisStore(waiting)
    await store.open()
    try:
        task = a_task()
        await store.add([a_new_task(task)])
        await _check_words(waiting, careless, caplog)
        replicas = [each for each in sentinel_set.servers if each is not sentinel_set.primary]
        await asyncio.to_thread(replicas[0].freeze)
        with pytest.raises(StoreUnavailable, match="1 of 2 replicas"):
            await store.add([a_new_task(a_task())])
        await asyncio.to_thread(replicas[0].thaw)
        assert await store.facts(task.id, None) is not None
        await asyncio.to_thread(_kill_and_wait, sentinel_set, replicas[0])
        other = RedisStore(waiting)
        with pytest.raises(UnusableStore) as refusal:
            await other.open()
        await other.close()
        assert refusal.value.code == "store_replicas_missing"
    finally:
        await store.close()


async def _check_words(waiting: str, careless: str, caplog: pytest.LogCaptureFixture) -> None:
    """Doctor, the start line and required durability say what a failover can lose."""
    clock = SystemClock()
    caplog.set_level(logging.WARNING, "horae")
    await warn_about_possible_loss(waiting, clock)
    await require_durable_store(waiting, clock)
    assert not caplog.records
    await warn_about_possible_loss(careless, clock)
    assert "when a replica takes over" in caplog.text
    assert "wait_replicas=1" in caplog.text
    with pytest.raises(UnusableStore, match="failover"):
        await require_durable_store(careless, clock)
    levels = []
    for url in (waiting, careless):
        status = await read_status(url, clock)
        levels += [
            each.grade for each in check_database_server(status, timedelta(minutes=1)) if each.code == "failover"
        ]
    assert levels == ["ok", "warning"]


def _kill_and_wait(sentinel_set: SentinelSet, replica: RedisServer) -> None:
    replica.kill()
    wait_until(lambda: sentinel_set.count_replicas(sentinel_set.primary) == 1, TIMEOUT, "a primary with one replica")
