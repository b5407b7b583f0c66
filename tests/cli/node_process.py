"""Node process on the store of a command line test, with its settings."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.command_line import Cli


@contextmanager
def running_node(cli: Cli, **environment: str) -> Iterator[None]:
    """Start a node in the folder of `cli`, with its settings."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("node.py")), cli.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=cli.directory,
        env=cli.environment(**environment),
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
    finally:
        process.communicate(timeout=60)
