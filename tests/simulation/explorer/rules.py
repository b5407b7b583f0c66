"""Decisions, store and node behaviour under exploration; planted defects replace one of them."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple, Protocol

from horae.lifecycle.fire import fire
from horae.lifecycle.recover import recover, release
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, Facts, SettleDecision
from horae.model.entry import Entry
from horae.model.run import Run
from tests.simulation.explorer.restorable import RestorableStore


class Fire(Protocol):
    def __call__(self, facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change: ...


class Lose(Protocol):
    def __call__(self, facts: Facts, run: Run, now: datetime) -> Change: ...


class Rules(NamedTuple):
    """`heeds_start`: what the store does not let start is not run. `looks_back`: a node that never heard what came of a
    claim asks which runs the store has under its name, and hands back those that it does not carry. `asks_first`: the start
    of a run is written after its gate was asked."""

    fire: Fire = fire
    settle: SettleDecision = settle
    recover: Lose = recover
    release: Lose = release
    store: type[RestorableStore] = RestorableStore
    heeds_start: bool = True
    looks_back: bool = True
    asks_first: bool = True


TRUE_RULES: Final = Rules()
