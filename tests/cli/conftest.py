"""Fixtures of the command line tests: a private folder with a store, and a node on it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command_line import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def node(cli: Cli) -> Iterator[subprocess.Popen[str]]:
    """A node on the store of `cli`, in its own process."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("node.py")), cli.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=cli.environment(),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.communicate(timeout=60)
