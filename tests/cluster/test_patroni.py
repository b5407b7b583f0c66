"""Kills of the primary of a Patroni cluster under load: what was acknowledged is there, and nodes go on in two seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.scenario import LOCAL_NODE, last_instant, steady_series
from tests.cluster.steady_client import SteadyClient
from tests.faults.client import add
from tests.faults.functions import FOLDER
from tests.faults.oracle import Due
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, marks, violations
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.servers.patroni import TTL_SECONDS, PatroniCluster, PatroniMember
from tests.servers.server import PATIENCE
from tests.sizes import sized

KILLS: Final = sized(1, soak=21)
MACHINE_EVERY: Final = 5
"""Of so many kills one takes Patroni as well: only the end of its lease in etcd tells the other member."""
BACK_SECONDS: Final = 2.0
"""From the moment the new primary takes writes to the next effect."""
DATABASE: Final = "postgres"


@pytest.fixture(scope="module")
def cluster() -> Iterator[PatroniCluster]:
    with PatroniCluster() as made:
        wait_until(lambda: made.is_protected, PATIENCE, "a primary with a synchronous standby")
        yield made


@pytest.fixture
def testbed(cluster: PatroniCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Testbed:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return Testbed(tmp_path, cluster.url_of(DATABASE))


@pytest.mark.long
def test_kills_of_the_primary_lose_and_repeat_nothing(
    testbed: Testbed, cluster: PatroniCluster, workers: Workers, measured: Measure
) -> None:
    nodes = [workers.ready(**LOCAL_NODE) for _ in range(2)]
    due: list[Due] = []
    with SteadyClient(testbed) as client:
        for kill in range(KILLS):
            is_machine = kill % MACHINE_EVERY == MACHINE_EVERY - 1
            due += add(testbed, steady_series(TTL_SECONDS * 2 if is_machine else 12.0))
            effects = len(marks(testbed, "effect"))
            wait_until(has_marks(testbed, "effect", effects + 5), TIMEOUT, "effects before the kill")
            fail_over(testbed, cluster, measured, is_machine=is_machine)
    due += client.acknowledged
    wait_until_quiet(testbed, last_instant(*due), PATIENCE)
    assert violations(testbed, *due) == []
    assert all(node.alive for node in nodes)
    measured("Patroni, tasks acknowledged under the kills", len(client.acknowledged))
    measured("Patroni, requests without an answer", client.errors)


def fail_over(testbed: Testbed, cluster: PatroniCluster, measured: Measure, *, is_machine: bool) -> None:
    """Kill the primary, measure how long the next effect takes at the other member, and repair the cluster."""
    old = cluster.primary
    assert old is not None
    (new,) = (member for member in cluster.members if member is not old)
    (old.kill if is_machine else old.kill_postgres)()
    wait_until(lambda: takes_writes(new), PATIENCE, "a new primary")
    effects = len(marks(testbed, "effect"))
    back = wait_until(has_marks(testbed, "effect", effects + 1), BACK_SECONDS, "the first effect at the new primary")
    measured(f"Patroni {'machine' if is_machine else 'server'} killed, from the new primary to the next effect", back)
    old.start()
    wait_until(lambda: cluster.is_protected, PATIENCE, "a synchronous standby")


def takes_writes(member: PatroniMember) -> bool:
    return member.ask("SELECT pg_is_in_recovery()") == "f"
