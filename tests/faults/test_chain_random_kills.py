"""kill -9 at random moments on three nodes: a chain with a join, judged by the files that its links write."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.faults.chain_kills import PREDECESSORS, find_problems, kill_nodes_with_a_join
from tests.faults.ledger import LinkMark
from tests.faults.processes import Workers
from tests.faults.testbed import Testbed
from tests.sizes import sized


@pytest.mark.parametrize("seed", range(1, 1 + sized(1, soak=3)))
def test_random_kills_neither_lose_nor_repeat_a_link(testbed: Testbed, workers: Workers, seed: int) -> None:
    kill_nodes_with_a_join(testbed, workers, seed)


def _mark(root: datetime, name: str, **given: str) -> LinkMark:
    return LinkMark(root.isoformat(), f"{name} {root}", f"{name} run", list(given.items()), "end")


@pytest.fixture
def flawless() -> dict[str, list[LinkMark]]:
    root = datetime(2026, 3, 1)
    return {
        name: [_mark(root, name, **{each: f"{each} run" for each in PREDECESSORS.get(name, ())})]
        for name in ("first", *PREDECESSORS)
    }


def test_judge_finds_lost_repeated_and_early_links(flawless: dict[str, list[LinkMark]]) -> None:
    roots = (datetime(2026, 3, 1),)
    assert find_problems(flawless, roots) == []
    (join,) = flawless["join"]
    assert find_problems({**flawless, "last": []}, roots) == ["last was lost for 2026-03-01T00:00:00"]
    repeated = [*flawless["last"], flawless["last"][0]._replace(key="another")]
    assert find_problems({**flawless, "last": repeated}, roots) == ["last fired 2 times for 2026-03-01T00:00:00"]
    early = [join._replace(previous=join.previous[:1])]
    assert "which have not all ended" in find_problems({**flawless, "join": early}, roots)[0]
