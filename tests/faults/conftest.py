"""A place and its workers for each test; what is measured is printed, and kept where the environment says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.fixtures import measured, workers
from tests.faults.functions import FOLDER
from tests.faults.place import Place

__all__ = ["measured", "place", "workers"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return Place.on_file(tmp_path)
