"""kill -9 of a run that handles messages, on database servers: its cursor moves with its answers, or not at all."""

from __future__ import annotations

from tests.cluster.scenario import ON_SQL_SERVERS
from tests.faults.message_kill import kill_around_the_settlement
from tests.faults.processes import Workers
from tests.faults.testbed import Testbed


@ON_SQL_SERVERS
def test_kill_before_the_settlement_of_a_run_that_handles_messages(testbed: Testbed, workers: Workers) -> None:
    kill_around_the_settlement(testbed, workers, "settling")
