"""Behaviours of a simulated target: works, fails, hangs, hands its work on, or kills its node."""

from __future__ import annotations

from enum import StrEnum
from random import Random
from typing import Final


class Behaviour(StrEnum):
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
    Behaviour.STEADY: 30,
    Behaviour.SLOW: 26,
    Behaviour.FLAKY: 12,
    Behaviour.FAILING: 6,
    Behaviour.RAISING: 4,
    Behaviour.SILENT: 8,
    Behaviour.KILLER: 4,
    Behaviour.POISON: 2,
    Behaviour.OUTSOURCING: 8,
    Behaviour.GATED: 4,
    Behaviour.STUBBORN: 8,
}


def choose_behaviour(dice: Random) -> Behaviour:
    return dice.choices(tuple(_WEIGHTS), tuple(_WEIGHTS.values()))[0]


def behaviour_of(payload: str) -> Behaviour:
    """Return the behaviour that a payload begins with; filled placeholders may follow it."""
    return Behaviour(payload.strip(' "').split()[0])
