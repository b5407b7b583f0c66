"""A new version is rolled out under load (F18): one node after the other ends in good order, and nobody notices."""

from __future__ import annotations

from datetime import timedelta

from tests.cluster.scene import NEAR, ON_ONE_STORE, effects, last_of, lateness, once_each, steadily
from tests.cluster.stores import StoreKind
from tests.faults.client import Wanted, add, soon
from tests.faults.evidence import until_quiet
from tests.faults.oracle import Series
from tests.faults.place import Place, until
from tests.faults.processes import START_SECONDS, Workers
from tests.faults.scene import LONG, Measure, has, judged


def load(seconds: float) -> list[Wanted]:
    """Series, and single tasks that take a while: some are going whenever a node is asked to end."""
    shots = [Wanted("slow", Series(soon(1) + timedelta(seconds=seconds * number / 100))) for number in range(100)]
    return [*(steadily(seconds, every=0.2, begin=1) for _ in range(4)), *shots]


@ON_ONE_STORE
def test_f18_a_rolling_restart(place: Place, workers: Workers, store: StoreKind, measured: Measure) -> None:
    nodes = [workers.ready(**NEAR) for _ in range(3)]
    due = add(place, *load(6.0))
    until(has(place, "effect", 10), LONG, "a few effects")
    for number, node in enumerate(nodes):
        node.ask_to_end()
        nodes[number] = workers.ready(**NEAR)
        assert node.dies(START_SECONDS) == 0
    until_quiet(place, last_of(*due), LONG)
    late = lateness(place)
    measured(f"F18 {store}, p99 lateness", late[int(len(late) * 0.99)])
    assert judged(place, *due) == []
    assert effects(place) == once_each(*due)
