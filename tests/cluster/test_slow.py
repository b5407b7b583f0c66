"""Each question to the store takes long (F10): whoever can still renew keeps the lease, and nothing is taken from it."""

from __future__ import annotations

from typing import Final

from tests.cluster.scene import ON_ONE_SERVER, effects, last_of, once_each, pass_leases, started, steadily
from tests.faults.client import add
from tests.faults.evidence import gather, until_quiet
from tests.faults.orders import ELSEWHERE
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, Measure, judged, marks, one
from tests.servers.proxy import Proxy

pytestmark = ON_ONE_SERVER

SLOW_LEASE: Final = 3.75
THERE_AND_BACK: Final = SLOW_LEASE / 15 * 2
"""What is promised is two seconds more for each question under the lease of fifteen: here both are a quarter of that."""


def test_f10_a_slow_store(place: Place, workers: Workers, proxy: Proxy, behind: str, measured: Measure) -> None:
    slow = workers.ready(url=behind, home=ELSEWHERE, lease=SLOW_LEASE)
    (going,) = add(place, one("awaited", {"gate": "done"}))
    until(started(place, going), LONG, "the start")
    workers.ready(lease=SLOW_LEASE)
    proxy.delay(THERE_AND_BACK / 2)
    (steady,) = add(place, steadily(2 * SLOW_LEASE))
    pass_leases(2, lease=SLOW_LEASE)
    place.open_gate("done")
    until_quiet(place, last_of(going, steady), LONG)
    measured("F10 effects on the slow node", sum(mark.pid == slow.pid for mark in marks(place, "effect")))
    assert judged(place, going, steady) == []
    assert marks(place, "cancelled") == []
    assert effects(place) == once_each(going, steady)
    assert {row.state for row in gather(place).rows} == {"succeeded"}
    proxy.heal()
    slow.end()
