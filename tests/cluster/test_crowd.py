"""Crowd of tasks due in one second (F14), on two nodes: each runs once, and other tasks run on time."""

from __future__ import annotations

import os
from typing import Final

from tests.cluster.crowd import Crowd, peak_megabytes
from tests.cluster.scenario import LOCAL_NODE, ON_SQL_SERVERS, effects, last_instant, once_per_instant, steady_series
from tests.cluster.stores import StoreKind
from tests.faults.client import add, from_now
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, marks
from tests.faults.store_snapshot import check_store, read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed
from tests.sizes import sized

pytestmark = ON_SQL_SERVERS

CROWD: Final = int(os.environ.get("HORAE_FAULTS_CROWD") or sized(10_000, soak=50_000))
ADDED_A_SECOND: Final = 3_000
MOST_MEGABYTES: Final = 512


def test_f14_crowd_due_in_one_second_runs_once_each(
    testbed: Testbed, workers: Workers, store: StoreKind, measured: Measure
) -> None:
    # MySQL and MariaDB allocate event numbers one transaction at a time, which takes a few times as long.
    size = CROWD if store == "postgres" else CROWD // 5
    crowd = Crowd(size, from_now(size / ADDED_A_SECOND))
    crowd.add(testbed)
    nodes = [workers.ready(**LOCAL_NODE | {"lease": 15.0}) for _ in range(2)]
    (theirs,) = add(
        testbed,
        steady_series(sized(5, soak=10), every=1.0, begin=max(1.0, (crowd.first - from_now(0)).total_seconds())),
    )
    crowd.wait(testbed)
    wait_until_quiet(testbed, last_instant(theirs), TIMEOUT)
    late = max((mark.instant - mark.planned).total_seconds() for mark in marks(testbed, "start"))
    measured(f"F14 {store}, {size} tasks, starts a second", crowd.rate(testbed))
    measured(f"F14 {store}, worst lateness of another owner's tasks meanwhile", late)
    assert crowd.find_violations(testbed) == []
    assert effects(testbed) & once_per_instant(theirs) == once_per_instant(theirs)
    assert {row.state for row in read_snapshot(testbed).rows if row.task == theirs.task} == {"succeeded"}
    assert check_store(testbed) == ()
    assert max(map(peak_megabytes, nodes)) < MOST_MEGABYTES
