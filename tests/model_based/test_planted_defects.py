"""The machine would notice: it finds each planted defect, and finds nothing where there is none."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from horae.errors import StoreError
from horae.ports.full_store import FullStore
from horae.stores.memory import MemoryStore
from horae.testing.contracts.model_based.machine import StoreMachine
from horae.testing.contracts.model_based.machine_state import MachineState
from horae.testing.contracts.model_based.message_machine import MessageMachine
from tests.contract.defective_chains import DropsGateStates, ForgetsTheVerdict, ForgetsWhatHasFired, IgnoresEditedLinks
from tests.contract.defective_messages import MESSAGES_DEFECTS
from tests.contract.defective_placement import (
    ClaimsFromEveryQueue,
    ForgetsThePast,
    ForgetsTheVerdictOfWaitingRuns,
    TakesTheFirstLane,
)
from tests.sizes import SOAK

from .defective_stores import DEFECTS

CONTRACT_DEFECTS: Final = (
    DropsGateStates,
    ForgetsThePast,
    ForgetsTheVerdict,
    ForgetsTheVerdictOfWaitingRuns,
    IgnoresEditedLinks,
    TakesTheFirstLane,
    *((ClaimsFromEveryQueue, ForgetsWhatHasFired) if SOAK else ()),
)
"""Defects of the contract tests in rules that the machine draws, too; the rarer ones are looked for in a soak run."""


def look_at(kind: type[MemoryStore], examples: int, base: type[MachineState] = StoreMachine) -> None:
    class Machine(base):  # type: ignore[misc,valid-type]
        async def open_empty(self) -> FullStore:
            return kind()

    profile = settings(
        max_examples=examples,
        stateful_step_count=50,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Machine, settings=profile)


@pytest.mark.parametrize("kind", [*DEFECTS, *CONTRACT_DEFECTS], ids=lambda kind: kind.__name__)
def test_a_planted_defect_is_found(kind: type[MemoryStore]) -> None:
    # A store that trips over its own defect may notice it itself, or run into a row that is not there.
    with pytest.raises((AssertionError, StoreError, KeyError)):
        look_at(kind, examples=400)


@pytest.mark.parametrize("kind", MESSAGES_DEFECTS, ids=lambda kind: kind.__name__)
def test_a_planted_defect_of_messages_is_found(kind: type[MemoryStore]) -> None:
    with pytest.raises((AssertionError, StoreError, KeyError)):
        look_at(kind, examples=400, base=MessageMachine)


@pytest.mark.parametrize("base", [StoreMachine, MessageMachine])
def test_the_measure_measures_itself(base: type[MachineState]) -> None:
    look_at(MemoryStore, examples=5, base=base)
