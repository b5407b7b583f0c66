"""What a simulated target is like: most do their work, some fail, hang, hand it on, or take their node down."""

from __future__ import annotations

from enum import StrEnum
from random import Random
from typing import Final


class Temper(StrEnum):
    STEADY = "steady"
    SLOW = "slow"
    FLAKY = "flaky"
    FAILING = "failing"
    RAISING = "raising"
    SILENT = "silent"
    KILLER = "killer"
    POISON = "poison"
    OUTSOURCING = "outsourcing"
    GATED = "gated"
    STUBBORN = "stubborn"


_WEIGHTS: Final = {
    Temper.STEADY: 30,
    Temper.SLOW: 26,
    Temper.FLAKY: 12,
    Temper.FAILING: 6,
    Temper.RAISING: 4,
    Temper.SILENT: 8,
    Temper.KILLER: 4,
    Temper.POISON: 2,
    Temper.OUTSOURCING: 8,
    Temper.GATED: 4,
    Temper.STUBBORN: 8,
}


def choose_temper(dice: Random) -> Temper:
    return dice.choices(tuple(_WEIGHTS), tuple(_WEIGHTS.values()))[0]
