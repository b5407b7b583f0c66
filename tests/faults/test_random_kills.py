"""kill -9 at random moments on two nodes under load: every guarantee of the checker holds."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Final

import pytest

from horae.clock import SystemClock
from tests.faults.client import RUN_EVERY_INSTANT, TaskRequest, add, from_now
from tests.faults.oracle import Series
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, has_marks, marks, violations
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.sizes import sized

KILLS: Final = 8
SECONDS: Final = 10.0


def load(chance: random.Random) -> list[TaskRequest]:
    """Request tasks of all kinds, close together; merged and skipped instants have rows too."""
    first = from_now(2.0)
    careful = {"guarantee": "at_most_once", **RUN_EVERY_INSTANT}
    requests: list[TaskRequest] = []
    for policies in (RUN_EVERY_INSTANT, {}, {"missed": "merge", "overlap": "queue"}, {"overlap": "parallel"}, careful):
        for _ in range(2):
            start = first + timedelta(seconds=chance.random())
            every = timedelta(milliseconds=chance.choice([90, 170, 310]))
            requests.append(
                TaskRequest("note", Series(start, every, int(SECONDS / every.total_seconds())), options=policies)
            )
    shots = [first + timedelta(seconds=chance.random() * SECONDS) for _ in range(150)]
    return requests + [TaskRequest("slow", Series(shot)) for shot in shots]


@pytest.mark.parametrize("seed", range(1, 1 + sized(1, soak=5)))
def test_random_kills_under_load_lose_nothing(testbed: Testbed, workers: Workers, seed: int) -> None:
    chance = random.Random(seed)
    nodes = [workers.ready(), workers.ready()]
    requests = load(chance)
    due = add(testbed, *requests)
    last = max(each.series.last for each in requests)
    wait_until(has_marks(testbed, "start"), TIMEOUT, "the first start")
    for _ in range(KILLS):
        SystemClock().sleep(chance.uniform(0.0, 0.8))
        victim = chance.randrange(2)
        nodes[victim].kill()
        nodes[victim] = workers.ready()
        if from_now(0) > last:
            break
    wait_until_quiet(testbed, last, TIMEOUT)
    assert violations(testbed, *due) == []
    assert any(mark.attempt > 1 for mark in marks(testbed, "start"))
