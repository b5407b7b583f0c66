"""The evaluator and the oracle give the same answers, at least half of the time near a clock change."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from horae import InvalidSchedule
from horae.schedule import Cron
from tests.oracle import zone_oracle
from tests.oracle.compare import compare, compare_edges
from tests.oracle.cron_oracle import fires
from tests.oracle.cron_reader import Refused, read
from tests.oracle.edges import AGREED
from tests.sizes import sized

SHARDS = sized(1, soak=8)
COMPARISONS = 25_000
"""Of each shard; fewer would not pass through every zone. `python -m tests.oracle.compare --count` takes any number."""


@pytest.mark.parametrize("shard", range(SHARDS))
def test_the_evaluator_agrees_with_the_oracle(shard: int) -> None:
    tally = compare(COMPARISONS, seed=1000 + shard)

    assert tally.differences == []
    assert tally.near_share >= 0.5
    assert tally.zones == set(zone_oracle.zone_names())


def test_evaluator_agrees_on_rare_cases() -> None:
    assert compare_edges().differences == []


@pytest.mark.parametrize("case", AGREED["fires"], ids=lambda case: f"{case['expression']} {case['zone']}")
def test_the_oracle_gives_the_agreed_fires(case: dict[str, Any]) -> None:
    found = fires(
        case["expression"],
        case["zone"],
        datetime.fromisoformat(case["after"]),
        datetime.fromisoformat(case["until"]),
        gap=case.get("gap", "next"),
        fold=case.get("fold", "first"),
    )

    assert found == [datetime.fromisoformat(instant) for instant in case["fires"]]


@pytest.mark.parametrize("case", AGREED["refused"], ids=lambda case: case["why"])
def test_oracle_and_evaluator_refuse_the_same(case: dict[str, str]) -> None:
    with pytest.raises(Refused):
        read(case["expression"])
    with pytest.raises(InvalidSchedule):
        Cron(expression=case["expression"], zone="UTC")


# Changes that are hard to see from afar: short ones, odd amounts, the date line, rules below zero, rules by decree.
@pytest.mark.parametrize(
    "zone",
    ["Africa/Casablanca", "Asia/Gaza", "Europe/Dublin", "Australia/Lord_Howe", "Pacific/Apia", "Antarctica/Troll"],
)
def test_the_oracle_knows_every_change(zone: str) -> None:
    """An offset changes where a change is known, and nowhere else, when looked at every six hours."""
    hours = timedelta(hours=6)
    instant = datetime.fromisoformat("1975-01-01T00:00:00Z")
    while instant.year < 2038:
        moved = zone_oracle.offset_at(zone, instant + hours) - zone_oracle.offset_at(zone, instant)
        known = zone_oracle.changes_between(zone, instant + zone_oracle.SECOND, instant + hours + zone_oracle.SECOND)
        assert moved == sum((change.jump for change in known), timedelta(0)), instant
        instant += hours


def test_the_oracle_knows_every_zone_of_the_package() -> None:
    names = zone_oracle.zone_names()

    assert len(names) > 500
    assert [zone_oracle.zone(name).key for name in names] == list(names)
