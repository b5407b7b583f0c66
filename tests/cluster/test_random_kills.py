"""kill -9 at random moments on three nodes of a database server: rates, joins and lanes, judged by what their targets wrote."""

from __future__ import annotations

import pytest

from tests.cluster.scenario import ON_SERVERS
from tests.faults.chain_kills import kill_nodes_with_a_join
from tests.faults.lane_kills import kill_nodes_with_a_lane
from tests.faults.processes import Workers
from tests.faults.rate_kills import kill_nodes_at_a_rate
from tests.faults.testbed import Testbed
from tests.sizes import sized

SEEDS = range(1, 1 + sized(1, soak=3))


@ON_SERVERS
@pytest.mark.parametrize("seed", SEEDS)
def test_random_kills_never_exceed_the_rate(testbed: Testbed, workers: Workers, seed: int) -> None:
    kill_nodes_at_a_rate(testbed, workers, seed)


@ON_SERVERS
@pytest.mark.parametrize("seed", SEEDS)
def test_random_kills_neither_lose_nor_repeat_a_link(testbed: Testbed, workers: Workers, seed: int) -> None:
    kill_nodes_with_a_join(testbed, workers, seed)


@ON_SERVERS
@pytest.mark.parametrize("seed", SEEDS)
def test_lane_of_one_under_random_kills(testbed: Testbed, workers: Workers, seed: int) -> None:
    kill_nodes_with_a_lane(testbed, workers, seed)
