"""Node frozen for three leases (F11), also inside a transaction: the server releases its locks."""

from __future__ import annotations

from typing import Any, Final

from tests.cluster.scenario import (
    ON_ONE_SERVER,
    ON_SQL_SERVERS,
    effects,
    last_instant,
    once_per_instant,
    started,
    steady_series,
)
from tests.faults import test_frozen as on_a_file
from tests.faults.client import add
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, one_shot, violations
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import OTHER_MACHINE

USUAL_LEASE: Final = 15.0


@ON_ONE_SERVER
def test_f11_stale_settlement_is_refused(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    on_a_file.test_f11_stale_settlement_is_refused(testbed, workers, measured)


@ON_ONE_SERVER
def test_f11_run_of_a_frozen_node_is_stopped_after_takeover(
    testbed: Testbed, workers: Workers, measured: Measure
) -> None:
    on_a_file.test_f11_run_of_a_frozen_node_is_stopped_after_takeover(testbed, workers, measured, "apart")


@ON_SQL_SERVERS
def test_f11_node_frozen_inside_a_transaction_blocks_no_peer(
    testbed: Testbed, workers: Workers, measured: Measure
) -> None:
    """One node holds the rows it settles, another those it claims: both are free within the default lease plus two
    seconds, and other tasks run meanwhile.
    """
    terms: dict[str, Any] = {"lease": USUAL_LEASE, "ceiling": USUAL_LEASE * 2 / 3}
    ending = workers.ready(point="ending", home=OTHER_MACHINE, **terms)
    (settled,) = add(testbed, one_shot())
    ending.expect("at ending")
    deciding = workers.ready(point="deciding", home=OTHER_MACHINE, **terms)
    (claimed,) = add(testbed, one_shot())
    deciding.expect("at deciding")
    workers.ready(**terms)
    (others,) = add(testbed, steady_series(5.0))
    measured(
        "F11 in a transaction, to the others' next effect", wait_until(has_marks(testbed, "effect", 2), 3, "an effect")
    )
    back = wait_until(started(testbed, claimed), USUAL_LEASE + 2, "a peer that claims it")
    measured("F11 in a transaction, claimed by a peer after", back)
    wait_until(started(testbed, settled, 2), USUAL_LEASE + 2 - back, "a peer that takes over")
    wait_until_quiet(testbed, last_instant(others), TIMEOUT)
    ending.thaw()
    deciding.thaw()
    more = add(testbed, one_shot(), one_shot())
    wait_until_quiet(testbed, last_instant(*more), TIMEOUT)
    assert violations(testbed, settled, claimed, others, *more) == []
    assert effects(testbed) - once_per_instant(settled) == once_per_instant(settled, claimed, others, *more)
