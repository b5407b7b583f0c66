"""Scenario of kill -9 at random moments on three nodes: a lane with a rate, judged by the file that its runs write."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from horae import Horae
from horae.clock import SystemClock
from horae.model.lanes.rate import Rate
from tests.faults.client import call_app, from_now
from tests.faults.ledger import LinkMark, read_links
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT
from tests.faults.store_snapshot import check_store
from tests.faults.testbed import Testbed, wait_until
from tests.sizes import sized

NODES: Final = 3
KILLS: Final = sized(4, soak=60)
TASKS: Final = sized(100, soak=1_500)
RATE: Final = Rate(10, timedelta(milliseconds=500))
FILE: Final = "paced"


async def add_tasks(app: Horae, at: datetime) -> None:
    """Add tasks that are all due at one instant, far more than the rate allows."""
    await app.lane("api", rate=str(RATE))
    for number in range(TASKS):
        await app.schedule("paced", at, {"file": FILE}, name=f"task {number}", lane="api")


def find_problems(marks: list[LinkMark]) -> list[str]:
    """Return the windows in which more runs started than the rate allows, and the number of tasks without an end."""
    starts = sorted({mark.run: datetime.fromisoformat(mark.root) for mark in marks}.values())
    problems = [
        f"{RATE.starts + 1} starts from {first} to {beyond}"
        for first, beyond in zip(starts, starts[RATE.starts :], strict=False)
        if beyond - first < RATE.period
    ]
    ended = {mark.key for mark in marks if mark.phase == "end"}
    return problems if len(ended) == TASKS else [*problems, f"{TASKS - len(ended)} tasks have not ended"]


def count_ended(testbed: Testbed) -> int:
    return len({mark.key for mark in read_links(testbed.links(FILE)) if mark.phase == "end"})


def kill_nodes_at_a_rate(testbed: Testbed, workers: Workers, seed: int) -> None:
    """Kill three nodes at random while they work off a lane with a rate; check its file, and the store."""
    chance = random.Random(seed)
    nodes = [workers.ready() for _ in range(NODES)]
    call_app(testbed, partial(add_tasks, at=from_now(0.5)))
    wait_until(lambda: testbed.links(FILE).exists(), TIMEOUT, "the first start")
    for _ in range(KILLS):
        SystemClock().sleep(chance.uniform(0.0, 0.6))
        victim = chance.randrange(NODES)
        nodes[victim].kill()
        nodes[victim] = workers.ready()
    wait_until(lambda: count_ended(testbed) == TASKS, TIMEOUT + TASKS / 10, "the end of all tasks", every=0.1)
    assert find_problems(read_links(testbed.links(FILE))) == []
    assert check_store(testbed) == ()
