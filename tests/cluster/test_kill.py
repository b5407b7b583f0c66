"""kill -9 at exact points of a run's life (F1 to F5), on servers: as on one machine, with peers that see it and strangers."""

from __future__ import annotations

import pytest

from tests.cluster.scene import ON_ONE_SERVER, ON_SERVERS
from tests.faults import test_kill as on_a_file
from tests.faults.place import Place
from tests.faults.processes import Workers
from tests.faults.scene import Measure, Successor


@ON_ONE_SERVER
def test_f1_before_the_claim(place: Place, workers: Workers, measured: Measure) -> None:
    on_a_file.test_f1_killed_before_the_claim_beside_a_peer(place, workers, measured)


@ON_ONE_SERVER
def test_f2_between_claim_and_start(place: Place, workers: Workers, measured: Measure) -> None:
    on_a_file.test_f2_killed_between_claim_and_start(place, workers, measured, "stranger")


@ON_SERVERS
@pytest.mark.parametrize(("function", "successor"), [("held", "peer"), ("apart", "stranger")])
def test_f3_in_the_middle(
    place: Place, workers: Workers, measured: Measure, function: str, successor: Successor
) -> None:
    on_a_file.test_f3_killed_in_the_middle(place, workers, measured, function, successor)


@ON_SERVERS
def test_f4_done_and_not_recorded(place: Place, workers: Workers, measured: Measure) -> None:
    on_a_file.test_f4_done_and_not_recorded(place, workers, measured, "stranger")


@ON_ONE_SERVER
@pytest.mark.parametrize(("point", "attempts", "state"), [("starting", [2], "succeeded"), ("started", [], "lost")])
def test_f4_at_most_once(place: Place, workers: Workers, point: str, attempts: list[int], state: str) -> None:
    on_a_file.test_f4_at_most_once(place, workers, point, attempts, state)


@ON_ONE_SERVER
def test_f5_there_is_no_moment_without_a_next_occurrence(place: Place, workers: Workers) -> None:
    on_a_file.test_f5_there_is_no_moment_without_a_next_occurrence(place, workers, "settled")


@ON_ONE_SERVER
def test_f5_the_next_instant_stands_when_a_run_is_claimed(place: Place, workers: Workers) -> None:
    on_a_file.test_f5_the_next_instant_stands_when_a_run_is_claimed(place, workers)
