"""Each guarantee is shown able to fail: a defect is planted, and found within a few seeds, under its own name."""

from __future__ import annotations

import pytest

from horae.simulation.checks.violation import Violation
from horae.simulation.trial import attempt
from tests.simulation.defects import DEFECTS, Defect

MOST_SEEDS = 12


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_planted_defect_is_found(defect: Defect, monkeypatch: pytest.MonkeyPatch) -> None:
    defect.plant(monkeypatch)
    found: list[Violation] = []
    for seed in range(MOST_SEEDS):
        found += attempt(seed).violations
        if any(violation.guarantee in defect.breaks for violation in found):
            return
    pytest.fail(f"not found in {MOST_SEEDS} seeds; found instead: {[str(each) for each in found[:5]]}")


def test_every_guarantee_that_a_world_can_show_has_its_defect() -> None:
    assert {"1", "3", "4", "5", "6", "7", "8", "11"} <= {name for defect in DEFECTS for name in defect.breaks}
