"""Commands that `why` suggests for a skipped occurrence."""

from __future__ import annotations

from horae.lifecycle.control import control
from horae.lifecycle.explain.explanation import explain
from horae.service.runs.explanations import OccurrenceExplanation
from horae.wire.tasks.fixes import fixes_for
from tests.unit.lifecycle.task_world import MINUTE, World, hour


def test_occurrence_that_could_not_start_in_time_can_be_run_or_allowed_to_be_late() -> None:
    world = World(start_within=10 * MINUTE).claim_at(hour(13.5))
    answer = explain(world.facts, tuple(world.runs.values()), hour(13), world.now)
    fixes = fixes_for(OccurrenceExplanation(world.facts, hour(13), answer), "report")
    assert [fix.command for fix in fixes] == [
        "horae run report --as-of 2026-03-01T13:00:00Z",
        "horae edit report --start-within never",
    ]


def test_requested_run_that_could_not_start_in_time_is_requested_again() -> None:
    world = World(start_within=10 * MINUTE)
    world.apply(control.run_now(world.facts, world.now))
    requested = world.now
    world.claim_at(world.now + 11 * MINUTE)
    answer = explain(world.facts, tuple(world.runs.values()), requested, world.now)
    fixes = fixes_for(OccurrenceExplanation(world.facts, requested, answer), "report")
    assert [fix.command for fix in fixes] == ["horae run report", "horae edit report --start-within never"]
