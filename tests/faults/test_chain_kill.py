"""kill -9 between the links of a chain: the next link is neither lost nor started twice."""

from __future__ import annotations

from typing import Final

import pytest

from horae import Horae, after
from tests.faults.client import call_app, from_now
from tests.faults.oracle import Series
from tests.faults.processes import Workers
from tests.faults.scenario import has_marks, marks
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import LEASE, Point

BACK_SECONDS: Final = LEASE + 10


async def add_chain(app: Horae) -> tuple[str, str]:
    first = await app.schedule("note", Series(from_now(0.3)).when, name="first")
    second = await app.schedule("note", after(first), name="second")
    return first.id, second.id


@pytest.mark.parametrize("point", ["settling", "settled"])
def test_kill_around_the_settlement_of_a_link(testbed: Testbed, workers: Workers, point: Point) -> None:
    first, second = call_app(testbed, add_chain)
    worker = workers.ready(point=point)
    worker.expect(f"at {point}")
    worker.kill()
    workers.ready()
    done = 3 if point == "settling" else 2
    wait_until(has_marks(testbed, "end", done), BACK_SECONDS, "the last link")
    ends = marks(testbed, "end")
    assert len({mark.key for mark in ends if mark.task == second}) == 1
    assert sum(mark.task == second for mark in ends) == 1
    # A run whose end was not recorded is repeated, with the same key.
    assert len({mark.key for mark in ends if mark.task == first}) == 1
