"""Short soak: nodes under load, a nemesis by its seed, and every rule of the checker."""

from __future__ import annotations

import pytest

from tests.cluster.scenario import ON_ONE_STORE
from tests.cluster.soak.soak import Plan, Soak
from tests.cluster.stores import DatabaseServer, StoreKind
from tests.faults.testbed import Testbed


@ON_ONE_STORE
@pytest.mark.parametrize("seed", [1])
def test_random_faults_lose_nothing(
    testbed: Testbed, server: DatabaseServer | None, store: StoreKind, seed: int
) -> None:
    plan = Plan(store, seconds=12, seed=seed, lease=3.0, nodes=3, longest=10)
    report = Soak(plan, testbed, server, print).run()
    assert report.violations == []
    assert sum(report.faults.values()) >= 3
    assert report.effects > 10
