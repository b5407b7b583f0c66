"""kill -9 of a run that handles messages: each message is handled by one occurrence and answered once."""

from __future__ import annotations

import pytest

from tests.faults.message_kill import kill_around_the_settlement
from tests.faults.processes import Workers
from tests.faults.testbed import Testbed
from tests.faults.worker_config import Point


@pytest.mark.parametrize("point", ["settling", "settled"])
def test_kill_around_the_settlement_of_a_run_that_handles_messages(
    testbed: Testbed, workers: Workers, point: Point
) -> None:
    kill_around_the_settlement(testbed, workers, point)
