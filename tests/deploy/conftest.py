"""Each test has a deployment of its own, and leaves no process behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.operating.deployment import Deployment
from tests.deploy.manager import Ears


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.end()


@pytest.fixture
def ears(tmp_path: Path) -> Iterator[Ears]:
    made = Ears(tmp_path)
    yield made
    made.close()
