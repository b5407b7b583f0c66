"""kill -9 at exact points of a run (F1 to F5) on database servers, with peers on the machine and remote ones."""

from __future__ import annotations

import pytest

from tests.cluster.scenario import ON_ONE_SERVER, ON_SERVERS
from tests.faults import test_kill as on_a_file
from tests.faults.processes import Workers
from tests.faults.scenario import Measure, Successor
from tests.faults.testbed import Testbed


@ON_ONE_SERVER
def test_f1_kill_before_claim(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    on_a_file.test_f1_kill_before_claim_with_a_peer(testbed, workers, measured)


@ON_ONE_SERVER
def test_f2_kill_between_claim_and_start(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    on_a_file.test_f2_kill_between_claim_and_start(testbed, workers, measured, "stranger")


@ON_SERVERS
@pytest.mark.parametrize(("function", "successor"), [("held", "peer"), ("apart", "stranger")])
def test_f3_kill_during_run(
    testbed: Testbed, workers: Workers, measured: Measure, function: str, successor: Successor
) -> None:
    on_a_file.test_f3_kill_during_run(testbed, workers, measured, function, successor)


@ON_SERVERS
def test_f4_kill_between_effect_and_settlement(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    on_a_file.test_f4_kill_between_effect_and_settlement(testbed, workers, measured, "stranger")


@ON_ONE_SERVER
@pytest.mark.parametrize(("point", "attempts", "state"), [("starting", [2], "succeeded"), ("started", [], "lost")])
def test_f4_at_most_once_run_is_not_repeated_after_its_start(
    testbed: Testbed, workers: Workers, point: str, attempts: list[int], state: str
) -> None:
    on_a_file.test_f4_at_most_once_run_is_not_repeated_after_its_start(testbed, workers, point, attempts, state)


@ON_ONE_SERVER
def test_f5_run_and_next_occurrence_commit_together(testbed: Testbed, workers: Workers) -> None:
    on_a_file.test_f5_run_and_next_occurrence_commit_together(testbed, workers, "settled")


@ON_ONE_SERVER
def test_f5_claim_writes_the_next_occurrence(testbed: Testbed, workers: Workers) -> None:
    on_a_file.test_f5_claim_writes_the_next_occurrence(testbed, workers)
