"""kill -9 at random moments on three nodes: a lane of one never has two runs at once, judged by the marks of its targets."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import pytest

from tests.faults.lane_kills import find_problems, kill_nodes_with_a_lane
from tests.faults.ledger import Mark
from tests.faults.oracle import Due
from tests.faults.processes import Workers
from tests.faults.testbed import Testbed
from tests.sizes import sized


@pytest.mark.parametrize("seed", range(1, 1 + sized(1, soak=3)))
def test_lane_of_one_under_random_kills(testbed: Testbed, workers: Workers, seed: int) -> None:
    kill_nodes_with_a_lane(testbed, workers, seed)


START: Final = datetime(2026, 3, 1)


def _mark(run: str, second: int, phase: str, pid: int = 1) -> Mark:
    instant = START + timedelta(seconds=second)
    return Mark("tsk_1", "key", START, 1, run, pid, instant, phase)  # type: ignore[arg-type]


def test_judge_finds_two_runs_at_once_and_lost_ones() -> None:
    due = [Due("tsk_1", (START,), at_most_once=False, must_run=True)]
    one = [_mark("a", 0, "start"), _mark("a", 2, "end")]
    assert find_problems(one, {}, due) == []
    both = [*one, _mark("b", 1, "start", 2), _mark("b", 3, "end", 2)]
    assert find_problems(both, {}, due) == ["b started while a was in the lane"]
    killed = [_mark("a", 0, "start"), _mark("b", 2, "start", 2), _mark("b", 3, "end", 2)]
    assert find_problems(killed, {1: START + timedelta(seconds=1)}, due) == []
    assert find_problems(killed, {1: START + timedelta(seconds=3)}, due) == ["b started while a was in the lane"]
    assert find_problems([], {}, due) == [f"tsk_1 has no end for {START}"]
