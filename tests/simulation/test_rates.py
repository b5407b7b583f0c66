"""Lanes with a rate under crashes and skewed clocks: no window has more starts, and planted defects are found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

import pytest

from horae.lifecycle.lanes import rate as rate_rules
from horae.model.lanes.rate import Rate, StartsAt
from horae.stores.memory import MemoryStore, data
from horae.stores.memory.data import Data
from tests.simulation.rate_world import RATE, RateWorld, check_rate
from tests.simulation.world_stores import WorldStore, worlds
from tests.sizes import sized

SEEDS = range(1, 1 + sized(2, soak=100))


def problems_of(seed: int) -> list[str]:
    store = MemoryStore()
    return check_rate(RateWorld(seed, lambda: store).run())


@pytest.mark.parametrize(("world_store", "seed"), worlds(SEEDS), indirect=["world_store"])
def test_no_window_has_more_starts_than_the_rate(world_store: WorldStore, seed: int) -> None:
    evidence = world_store.run(RateWorld, seed)
    assert check_rate(evidence) == []
    assert not evidence.complaints
    assert sum(run.claimed is not None for run in evidence.runs.values()) > 50 * RATE.starts


def _starts_not_counted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Data, "_record_start", lambda *_: None)


def _one_too_many(patch: pytest.MonkeyPatch) -> None:
    def left(rate: Rate, kept: tuple[StartsAt, ...], now: datetime | None) -> int:
        return rate_rules.starts_left(rate._replace(starts=rate.starts + 1), kept, now)

    patch.setattr(data, "starts_left", left)


def _whole_periods(patch: pytest.MonkeyPatch) -> None:
    """A counter for each period of the calendar, which allows twice the rate around its beginning."""

    def left(rate: Rate, kept: tuple[StartsAt, ...], now: datetime | None) -> int:
        if now is None:
            return rate_rules.starts_left(rate, kept, None)
        begin = now - (now - datetime.min.replace(tzinfo=now.tzinfo)) % rate.period
        return max(0, rate.starts - sum(each.number for each in kept if each.at >= begin))

    patch.setattr(data, "starts_left", left)


def _never_woken(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(data, "next_start", lambda *_: None)


DEFECTS: Final[dict[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "starts are not counted": _starts_not_counted,
    "one start too many": _one_too_many,
    "starts are counted by whole periods": _whole_periods,
    "a lane has no wake-up": _never_woken,
}


@pytest.mark.parametrize("name", DEFECTS)
def test_planted_defect_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    DEFECTS[name](monkeypatch)
    assert any(problems_of(seed) for seed in range(1, 9))
