"""The simulation on a SQLite file, with its writer thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.stores.sqlite import SQLiteStore
from tests.simulation.trial import run_seed
from tests.sizes import sized


@pytest.mark.parametrize("seed", range(sized(2, soak=40)))
def test_every_guarantee_holds_on_sqlite(seed: int, tmp_path: Path) -> None:
    trial = run_seed(seed, lambda: SQLiteStore(str(tmp_path / "horae.db")), threaded=True)
    assert not trial.violations, f"\n{trial}"
