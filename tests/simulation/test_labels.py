"""Labels under crashes: an entry is never claimed by a node without its labels, and a planted defect is found."""

from __future__ import annotations

import pytest

from horae.lifecycle import fire
from horae.model.lanes import route
from horae.stores.memory import MemoryStore
from tests.simulation.label_world import LabelWorld, check_labels
from tests.simulation.world_stores import WorldStore, worlds
from tests.sizes import sized

SEEDS = range(1, 1 + sized(2, soak=100))


@pytest.mark.parametrize(("world_store", "seed"), worlds(SEEDS), indirect=["world_store"])
def test_no_node_claims_what_requires_other_labels(world_store: WorldStore, seed: int) -> None:
    evidence = world_store.run(LabelWorld, seed)
    assert check_labels(evidence) == []
    assert not evidence.complaints
    assert len(evidence.history.claims) > 200


def find_problems() -> list[str]:
    return next((found for seed in range(1, 9) if (found := check_labels(LabelWorld(seed, MemoryStore).run()))), [])


def _accept_any(_where: object, _labels: object) -> bool:
    return True


def test_labels_that_are_not_compared_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (route, fire):
        monkeypatch.setattr(module, "has_labels", _accept_any)
    assert find_problems()
