"""The same worlds on the store that people use: a file, with a thread of its own for all writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.stores.sqlite import SQLiteStore
from tests.simulation.trial import attempt


@pytest.mark.parametrize("seed", range(4))
def test_every_guarantee_holds_on_a_file_too(seed: int, tmp_path: Path) -> None:
    trial = attempt(seed, lambda: SQLiteStore(str(tmp_path / "horae.db")), threaded=True)
    assert not trial.violations, f"\n{trial}"
