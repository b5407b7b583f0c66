"""Command line fixture that talks to a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.remote.server import RemoteCli


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[RemoteCli]:
    remote = RemoteCli(tmp_path)
    yield remote
    remote.stop()
