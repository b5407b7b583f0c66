"""A crowd that is due in one second (F14), on two nodes: each of them runs once, and others do not wait for it."""

from __future__ import annotations

import os
from typing import Final

from tests.cluster.crowd import Crowd, peak_megabytes
from tests.cluster.scene import NEAR, ON_SERVERS, effects, last_of, once_each, steadily
from tests.cluster.stores import StoreKind
from tests.faults.client import add, soon
from tests.faults.evidence import doubts, gather, until_quiet
from tests.faults.place import Place
from tests.faults.processes import Workers
from tests.faults.scene import LONG, Measure, marks
from tests.sizes import sized

pytestmark = ON_SERVERS

CROWD: Final = int(os.environ.get("HORAE_FAULTS_CROWD") or sized(10_000, soak=50_000))
ADDED_A_SECOND: Final = 3_000
MOST_MEGABYTES: Final = 512


def test_f14_a_crowd_in_one_second(place: Place, workers: Workers, store: StoreKind, measured: Measure) -> None:
    # On MySQL and MariaDB the numbers of events are given out one transaction at a time: it takes a few times as long.
    size = CROWD if store == "postgres" else CROWD // 5
    crowd = Crowd(size, soon(size / ADDED_A_SECOND))
    crowd.add(place)
    nodes = [workers.ready(**NEAR | {"lease": 15.0}) for _ in range(2)]
    (theirs,) = add(
        place, steadily(sized(5, soak=10), every=1.0, begin=max(1.0, (crowd.first - soon(0)).total_seconds()))
    )
    crowd.wait(place)
    until_quiet(place, last_of(theirs), LONG)
    late = max((mark.instant - mark.planned).total_seconds() for mark in marks(place, "start"))
    measured(f"F14 {store}, {size} tasks, starts a second", crowd.rate(place))
    measured(f"F14 {store}, worst lateness of another owner's tasks meanwhile", late)
    assert crowd.wrong(place) == []
    assert effects(place) & once_each(theirs) == once_each(theirs)
    assert {row.state for row in gather(place).rows if row.task == theirs.task} == {"succeeded"}
    assert doubts(place) == ()
    assert max(map(peak_megabytes, nodes)) < MOST_MEGABYTES
