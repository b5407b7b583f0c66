"""The soak in small: nodes under load, and a nemesis by its seed; then every rule of the checker."""

from __future__ import annotations

import pytest

from tests.cluster.scene import ON_ONE_STORE
from tests.cluster.soak.soak import Plan, Soak
from tests.cluster.stores import DatabaseServer, StoreKind
from tests.faults.place import Place


@ON_ONE_STORE
@pytest.mark.parametrize("seed", [1])
def test_nothing_is_lost_whatever_happens(
    place: Place, server: DatabaseServer | None, store: StoreKind, seed: int
) -> None:
    plan = Plan(store, seconds=12, seed=seed, lease=3.0, nodes=3, longest=10)
    report = Soak(plan, place, server, print).run()
    assert report.wrong == []
    assert sum(report.faults.values()) >= 3
    assert report.effects > 10
