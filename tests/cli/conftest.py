"""A private folder with a command line in it."""

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
    """A running engine on the store of `cli`, in a process of its own."""
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
