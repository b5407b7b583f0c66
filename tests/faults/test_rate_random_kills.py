"""kill -9 at random moments on three nodes: a lane with a rate, judged by the file that its runs write."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.faults.ledger import LinkMark
from tests.faults.processes import Workers
from tests.faults.rate_kills import RATE, TASKS, find_problems, kill_nodes_at_a_rate
from tests.faults.testbed import Testbed
from tests.sizes import sized


@pytest.mark.parametrize("seed", range(1, 1 + sized(1, soak=3)))
def test_random_kills_never_exceed_the_rate(testbed: Testbed, workers: Workers, seed: int) -> None:
    kill_nodes_at_a_rate(testbed, workers, seed)


def test_judge_finds_an_exceeded_rate_and_a_lost_task() -> None:
    noon = datetime(2026, 3, 1, 12)

    def mark(number: int) -> LinkMark:
        at = noon + number // RATE.starts * RATE.period
        return LinkMark(at.isoformat(), f"key {number}", f"run {number}", [], "end")

    flawless = [mark(number) for number in range(TASKS)]
    assert find_problems(flawless) == []
    assert find_problems(flawless[1:]) == ["1 tasks have not ended"]
    early = (noon + RATE.period - timedelta(microseconds=1)).isoformat()
    assert "11 starts from" in find_problems([*flawless[:-1], flawless[-1]._replace(root=early)])[0]
