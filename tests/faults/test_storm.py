"""Two nodes under load, and kill -9 at chance moments: whatever the moment is, the promises hold."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Final

import pytest

from horae.clock import SystemClock
from tests.faults.client import EVERYTHING, Wanted, add, soon
from tests.faults.evidence import until_quiet
from tests.faults.oracle import Series
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, has, judged, marks
from tests.sizes import sized

KILLS: Final = 8
SECONDS: Final = 10.0


def load(chance: random.Random) -> list[Wanted]:
    """Tasks of all kinds, close together; some are merged or skipped on the way, and that has its rows too."""
    first = soon(2.0)
    careful = {"guarantee": "at_most_once", **EVERYTHING}
    wanted: list[Wanted] = []
    for policies in (EVERYTHING, {}, {"missed": "merge", "overlap": "queue"}, {"overlap": "parallel"}, careful):
        for _ in range(2):
            start = first + timedelta(seconds=chance.random())
            every = timedelta(milliseconds=chance.choice([90, 170, 310]))
            wanted.append(Wanted("note", Series(start, every, int(SECONDS / every.total_seconds())), options=policies))
    shots = [first + timedelta(seconds=chance.random() * SECONDS) for _ in range(150)]
    return wanted + [Wanted("slow", Series(shot)) for shot in shots]


@pytest.mark.parametrize("seed", range(1, 1 + sized(1, soak=5)))
def test_nothing_is_lost_in_a_storm(place: Place, workers: Workers, seed: int) -> None:
    chance = random.Random(seed)
    nodes = [workers.ready(), workers.ready()]
    wanted = load(chance)
    due = add(place, *wanted)
    last = max(each.series.last for each in wanted)
    until(has(place, "start"), LONG, "the first start")
    for _ in range(KILLS):
        SystemClock().sleep(chance.uniform(0.0, 0.8))
        victim = chance.randrange(2)
        nodes[victim].kill()
        nodes[victim] = workers.ready()
        if soon(0) > last:
            break
    until_quiet(place, last, LONG)
    assert judged(place, *due) == []
    assert any(mark.attempt > 1 for mark in marks(place, "start"))
