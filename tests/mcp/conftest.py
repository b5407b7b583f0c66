"""Fixture of the command line on a store in a temporary folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
