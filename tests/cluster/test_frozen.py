"""A process that is frozen for three leases (F11), also in the middle of a transaction: the server's locks do not wait."""

from __future__ import annotations

from typing import Any, Final

from tests.cluster.scene import ON_ONE_SERVER, ON_SERVERS, effects, last_of, once_each, started, steadily
from tests.faults import test_frozen as on_a_file
from tests.faults.client import add
from tests.faults.evidence import until_quiet
from tests.faults.orders import ELSEWHERE
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, Measure, has, judged, one

USUAL_LEASE: Final = 15.0


@ON_ONE_SERVER
def test_f11_a_stale_settlement_is_refused(place: Place, workers: Workers, measured: Measure) -> None:
    on_a_file.test_f11_a_stale_settlement_is_refused(place, workers, measured)


@ON_ONE_SERVER
def test_f11_what_a_frozen_node_carried_is_stopped(place: Place, workers: Workers, measured: Measure) -> None:
    on_a_file.test_f11_what_a_frozen_node_carried_is_stopped(place, workers, measured, "apart")


@ON_SERVERS
def test_f11_frozen_in_the_middle_of_a_transaction(place: Place, workers: Workers, measured: Measure) -> None:
    """One holds what it is about to settle, another what it is about to claim: both are free again within the lease, as it
    is by default, and two seconds; and others are not held up meanwhile."""
    terms: dict[str, Any] = {"lease": USUAL_LEASE, "ceiling": USUAL_LEASE * 2 / 3}
    ending = workers.ready(point="ending", home=ELSEWHERE, **terms)
    (settled,) = add(place, one())
    ending.expect("at ending")
    deciding = workers.ready(point="deciding", home=ELSEWHERE, **terms)
    (claimed,) = add(place, one())
    deciding.expect("at deciding")
    workers.ready(**terms)
    (others,) = add(place, steadily(5.0))
    measured("F11 in a transaction, to the others' next effect", until(has(place, "effect", 2), 3, "an effect"))
    back = until(started(place, claimed), USUAL_LEASE + 2, "a peer that claims it")
    measured("F11 in a transaction, claimed by a peer after", back)
    until(started(place, settled, 2), USUAL_LEASE + 2 - back, "a peer that takes over")
    until_quiet(place, last_of(others), LONG)
    ending.thaw()
    deciding.thaw()
    more = add(place, one(), one())
    until_quiet(place, last_of(*more), LONG)
    assert judged(place, settled, claimed, others, *more) == []
    assert effects(place) - once_each(settled) == once_each(settled, claimed, others, *more)
