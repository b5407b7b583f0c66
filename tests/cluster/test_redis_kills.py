"""kill -9 of Redis under load, with `appendfsync always` (F17): nothing acknowledged is lost, nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from horae.clock import SystemClock
from tests.cluster.scenario import effects
from tests.cluster.soak.load import Load
from tests.faults import ledger
from tests.faults.checker import find_violations
from tests.faults.functions import FOLDER
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, marks
from tests.faults.store_snapshot import check_store, read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.servers.redis import RedisServer
from tests.sizes import sized

KILLS: Final = sized(4, soak=30)
LASTING_LEASE: Final[dict[str, Any]] = {"lease": 30.0, "ceiling": 10.0}
"""Longer than the server is ever away: no run is taken from its node, so every repeated effect would be wrong."""


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    with RedisServer(in_memory=True) as made:
        yield made


@pytest.fixture
def testbed(own_server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Testbed:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return Testbed(tmp_path, own_server.url)


def test_f17_killed_redis_loses_and_doubles_nothing(
    testbed: Testbed, workers: Workers, own_server: RedisServer, measured: Measure
) -> None:
    for _ in range(2):
        workers.ready(**LASTING_LEASE)
    load = Load(testbed, seed=17, longest=10, every=0.2)
    load.start()
    returns = []
    for _ in range(KILLS):
        # In the middle of work: since the last kill, tasks are acknowledged and runs end.
        done = len(marks(testbed, "effect"))
        wait_until(has_acknowledged(load, len(load.acknowledged) + 5), TIMEOUT, "acknowledged tasks")
        wait_until(has_marks(testbed, "effect", done + 5), TIMEOUT, "effects")
        own_server.kill()
        began, acknowledged = SystemClock().steady(), len(load.acknowledged)
        own_server.start()
        wait_until(has_acknowledged(load, acknowledged + 1), TIMEOUT, "the next acknowledged task")
        returns.append(SystemClock().steady() - began)
    load.stop(TIMEOUT)
    wait_until_quiet(testbed, load.last, 2 * TIMEOUT)
    snapshot = read_snapshot(testbed)
    dues, missing = load.dues(snapshot.rows)
    measured(f"F17 {KILLS} kills, slowest from the kill to the next acknowledged task", max(returns))
    measured("F17 acknowledged tasks", len(load.acknowledged))
    measured("F17 effects", len(marks(testbed, "effect")))
    assert missing == []
    assert find_violations(dues, ledger.read(testbed.ledger), snapshot) == []
    assert [each for each, times in effects(testbed).items() if times > 1] == []
    assert check_store(testbed) == ()


def has_acknowledged(load: Load, count: int) -> Callable[[], bool]:
    return lambda: len(load.acknowledged) >= count
