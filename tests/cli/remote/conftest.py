"""A private folder with a command line in it that works at a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.remote.served import ServedCli


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[ServedCli]:
    served = ServedCli(tmp_path)
    yield served
    served.stop()
