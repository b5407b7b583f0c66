"""Scenario of kill -9 at random moments on three nodes: a chain with a join, judged by the files that its links write."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from horae import Horae, after
from horae.clock import SystemClock
from tests.faults.client import RUN_EVERY_INSTANT, call_app, from_now
from tests.faults.ledger import LinkMark, read_links
from tests.faults.oracle import Series
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT
from tests.faults.store_snapshot import check_store, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.sizes import sized

NODES: Final = 3
KILLS: Final = sized(5, soak=60)
ROOTS: Final = sized(16, soak=240)
EVERY: Final = timedelta(milliseconds=250)
PREDECESSORS: Final = {"left": ("first",), "right": ("first",), "join": ("left", "right"), "last": ("join",)}


class Chain(NamedTuple):
    """Ids by name, and the instants that the chain begins with."""

    ids: dict[str, str]
    roots: tuple[datetime, ...]


async def add_chain(app: Horae, series: Series) -> Chain:
    options: dict[str, Any] = RUN_EVERY_INSTANT
    handles = {"first": await app.schedule("link", series.when, name="first", **options)}
    created = handles["first"].created
    for name, former in PREDECESSORS.items():
        when = after(*(handles[each] for each in former), mode="all" if len(former) > 1 else "any")
        handles[name] = await app.schedule("link", when, name=name, **options)
    return Chain({name: handle.id for name, handle in handles.items()}, series.due_from(created))


def find_problems(marks: dict[str, list[LinkMark]], roots: tuple[datetime, ...]) -> list[str]:
    """Return what the lines of the links contradict: each link once for each root, and after its predecessors."""
    problems: list[str] = []
    ended = {name: {mark.run: mark.root for mark in lines if mark.phase == "end"} for name, lines in marks.items()}
    expected = {root.isoformat() for root in roots}
    for name, lines in marks.items():
        keys: dict[str, set[str]] = defaultdict(set)
        for mark in lines:
            keys[mark.root].add(mark.key)
            given = dict(mark.previous)
            wanted = dict.fromkeys(PREDECESSORS.get(name, ()), mark.root)
            if {each: ended[each].get(run) for each, run in given.items()} != wanted:
                problems.append(f"{name} for {mark.root} was given {given}, which have not all ended for it")
        problems += [f"{name} fired {len(each)} times for {root}" for root, each in keys.items() if len(each) > 1]
        done = set(ended[name].values())
        problems += [f"{name} was lost for {root}" for root in sorted(expected - done)]
        problems += [f"{name} ran for {root}, which was not planned" for root in sorted(done - expected)]
    return problems


def read_marks(testbed: Testbed, chain: Chain) -> dict[str, list[LinkMark]]:
    return {name: read_links(testbed.links(task_id)) for name, task_id in chain.ids.items()}


def has_begun(testbed: Testbed, chain: Chain) -> bool:
    return testbed.links(chain.ids["first"]).exists()


def kill_nodes_with_a_join(testbed: Testbed, workers: Workers, seed: int) -> None:
    """Kill three nodes at random while they run a chain with a join; check the files of its links, and the store."""
    chance = random.Random(seed)
    nodes = [workers.ready() for _ in range(NODES)]
    series = Series(from_now(1.0), EVERY, ROOTS)
    chain = call_app(testbed, partial(add_chain, series=series))
    wait_until(partial(has_begun, testbed, chain), TIMEOUT, "the first root")
    for _ in range(KILLS):
        SystemClock().sleep(chance.uniform(0.0, 0.6))
        victim = chance.randrange(NODES)
        nodes[victim].kill()
        nodes[victim] = workers.ready()
    wait_until_quiet(testbed, series.last, TIMEOUT)
    assert find_problems(read_marks(testbed, chain), chain.roots) == []
    assert check_store(testbed) == ()
