"""Scenario of kill -9 at random moments on three nodes: a lane of one never has two runs at once, judged by the marks of its targets."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from horae.clock import SystemClock
from tests.faults.client import RUN_EVERY_INSTANT, TaskRequest, add, from_now
from tests.faults.ledger import Mark, read
from tests.faults.oracle import Due, Series
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, has_marks
from tests.faults.store_snapshot import check_store, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.sizes import sized

NODES: Final = 3
KILLS: Final = sized(3, soak=60)
ROUNDS: Final = sized(5, soak=120)
EVERY: Final = timedelta(milliseconds=500)
OPTIONS: Final = {**RUN_EVERY_INSTANT, "lane": "press"}


class Stay(NamedTuple):
    """From the start to the end of a call, or to the kill of its process."""

    start: datetime
    end: datetime
    run: str


def stays_of(lines: Sequence[Mark], kills: Mapping[int, datetime]) -> list[Stay]:
    """Return the stays in the lane, oldest first; a call that its process did not end lasted until the kill."""
    ends = {(mark.run, mark.pid): mark.instant for mark in lines if mark.phase == "end"}
    return sorted(
        Stay(mark.instant, ends.get((mark.run, mark.pid)) or kills[mark.pid], mark.run)
        for mark in lines
        if mark.phase == "start"
    )


def find_problems(lines: Sequence[Mark], kills: Mapping[int, datetime], due: Sequence[Due]) -> list[str]:
    """Return what the marks contradict: one call at a time, and each planned instant comes to its end."""
    problems: list[str] = []
    latest: Stay | None = None
    for stay in stays_of(lines, kills):
        if latest is not None and stay.start < latest.end:
            problems.append(f"{stay.run} started while {latest.run} was in the lane")
        if latest is None or stay.end > latest.end:
            latest = stay
    ended = {(mark.task, mark.planned) for mark in lines if mark.phase == "end"}
    problems += [
        f"{each.task} has no end for {instant}"
        for each in due
        for instant in each.instants
        if (each.task, instant) not in ended
    ]
    return problems


def kill_nodes_with_a_lane(testbed: Testbed, workers: Workers, seed: int) -> None:
    """Kill three nodes at random while four tasks share a lane of one; check their marks, and the store."""
    chance = random.Random(seed)
    nodes = [workers.ready() for _ in range(NODES)]
    series = Series(from_now(1.0), EVERY, ROUNDS)
    due = add(
        testbed,
        TaskRequest("listen", series, options=OPTIONS, owner="ada"),
        *(TaskRequest("occupy", series, options=OPTIONS, owner=owner) for owner in ("ada", "bob", "cleo")),
    )
    wait_until(has_marks(testbed, "start"), TIMEOUT, "the first start")
    kills: dict[int, datetime] = {}
    for _ in range(KILLS):
        SystemClock().sleep(chance.uniform(0.0, 0.6))
        victim = chance.randrange(NODES)
        kills[nodes[victim].pid] = SystemClock().now()
        nodes[victim].kill()
        nodes[victim] = workers.ready()
    wait_until_quiet(testbed, series.last, TIMEOUT)
    lines = read(testbed.ledger)
    assert find_problems(lines, kills, due) == []
    assert any(mark.phase == "effect" for mark in lines), "an idle run was asked to yield"
    assert check_store(testbed) == ()
