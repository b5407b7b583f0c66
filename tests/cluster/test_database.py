"""The database is down, or answers nobody, for longer than a lease (F6): then everything goes on, and nothing is repeated."""

from __future__ import annotations

from typing import Final

import pytest

from horae.clock import SystemClock
from tests.cluster.scene import NEAR, effects, last_of, once_each, pass_leases, started, steadily
from tests.cluster.stores import DatabaseServer
from tests.faults.client import add
from tests.faults.evidence import until_quiet
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, Measure, has, judged, one
from tests.sizes import sized

OUTAGES: Final = [("postgres", "killed"), ("mariadb", "frozen"), ("postgres", "frozen"), ("mariadb", "killed")]
"""Each server and each outage once; a soak run takes all pairs."""


@pytest.mark.parametrize(("store", "outage"), OUTAGES[: sized(2, soak=4)], indirect=["store"])
def test_f6_the_database_is_away(
    place: Place, workers: Workers, server: DatabaseServer, measured: Measure, outage: str
) -> None:
    for _ in range(2):
        workers.ready(**NEAR)
    going, steady = add(place, one("awaited", {"gate": "done"}), steadily(10.0))
    until(started(place, going), LONG, "the start")
    until(has(place, "effect", 3), LONG, "a few effects")
    take_away(server, outage)
    away = SystemClock().steady()
    until(has(place, "cancelled"), NEAR["lease"], "the end of what nobody can hold any more")
    pass_leases(2, since=away)
    before = sum(effects(place).values())
    bring_back(server, outage)
    back = until(has(place, "effect", before + 1), 5, "the first effect after it")
    measured(f"F6 {outage}, from its return to the next effect", back)
    place.open_gate("done")
    until_quiet(place, last_of(going, steady), LONG)
    assert judged(place, going, steady) == []
    assert effects(place) == once_each(going, steady)


def take_away(server: DatabaseServer, outage: str) -> None:
    (server.freeze if outage == "frozen" else server.kill)()


def bring_back(server: DatabaseServer, outage: str) -> None:
    if outage == "frozen":
        server.thaw()
    else:
        server.start()
