"""Testbed and workers for each test; measurements are printed, and appended to the file in `HORAE_FAULTS_MEASURED`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.fixtures import measured, workers
from tests.faults.functions import FOLDER
from tests.faults.testbed import Testbed
from tests.servers.fixtures import postgres_server, redis_server

__all__ = ["measured", "postgres_server", "redis_server", "testbed", "workers"]


@pytest.fixture
def testbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Testbed:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return Testbed.on_file(tmp_path)
