"""The fast path of start and settle equals the general path in every lifecycle, and is taken."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horae.lifecycle.fast_path import fast_claim, fast_settlement
from horae.lifecycle.fire import fire_by_rules
from horae.lifecycle.settle import settle_by_rules
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.outcome import Settlement, Succeeded
from horae.model.run import Run
from horae.schedule import Cron, Every, Now, Once
from tests.unit.lifecycle import task_world as worlds
from tests.unit.lifecycle.task_steps import Chosen, Step, live
from tests.unit.lifecycle.task_strategies import chosen, steps
from tests.unit.lifecycle.task_world import HOUR, MINUTE, NOON, World

taken: Counter[str] = Counter()


def claim_both_ways(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    short, long = fast_claim(facts, entry, token, claim), fire_by_rules(facts, entry, token, claim)
    if short is not None:
        taken["claim"] += 1
        assert short == long
    return long


def settle_both_ways(facts: Facts, run: Run, report: Settlement) -> Change:
    short, long = fast_settlement(facts, run, report), settle_by_rules(facts, run, report)
    if short is not None:
        taken["settle"] += 1
        assert short == long
    return long


@pytest.fixture(autouse=True)
def both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "fire", claim_both_ways)
    monkeypatch.setattr(worlds, "settle", settle_both_ways)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen, st.lists(st.tuples(steps, chosen), max_size=40))
def test_fast_path_equals_the_general_path(first: Chosen, happening: list[tuple[Step, Chosen]]) -> None:
    live(first, happening)


@pytest.mark.parametrize(
    "schedule",
    [Once(at=NOON + MINUTE), Now(), Every(interval=HOUR), Cron(expression="5 * * * *", zone="UTC")],
    ids=["once", "now", "every", "cron"],
)
def test_single_successful_run_takes_the_fast_path(schedule: Once | Now | Every | Cron) -> None:
    taken.clear()
    world = World(schedule)
    (entry,) = world.entries.values()
    world.now = entry.due + timedelta(milliseconds=3)
    world.claim()
    world.settle(Succeeded('"done"'))
    assert set(taken) == {"claim", "settle"}
