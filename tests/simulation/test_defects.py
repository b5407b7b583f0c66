"""Each planted defect is found within a few seeds, under the guarantee that it breaks."""

from __future__ import annotations

import pytest

from tests.simulation.checks.violation import Violation
from tests.simulation.defects import DEFECTS, Defect
from tests.simulation.trial import run_seed

MOST_SEEDS = 16


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_planted_defect_is_found(defect: Defect, monkeypatch: pytest.MonkeyPatch) -> None:
    defect.plant(monkeypatch)
    found: list[Violation] = []
    for seed in (defect.seed, *(each for each in range(MOST_SEEDS) if each != defect.seed)):
        found += run_seed(seed).violations
        if any(violation.guarantee in defect.breaks for violation in found):
            return
    pytest.fail(f"not found in {MOST_SEEDS} seeds; found instead: {[str(each) for each in found[:5]]}")


def test_every_guarantee_has_its_defect() -> None:
    assert {str(number) for number in range(1, 12)} <= {name for defect in DEFECTS for name in defect.breaks}
