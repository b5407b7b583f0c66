"""Fixtures of a deployment whose processes are ended, and of a log output."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.operating.deployment import Deployment


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.end()


@pytest.fixture
def log_output() -> Iterator[io.StringIO]:
    """Return a stream for `configure_logging`; the loggers are reset before, because a server of another test may have
    left loggers that do not propagate, and restored afterwards."""
    loggers = [logging.getLogger(name) for name in (None, "horae", "horae.test", "uvicorn", "uvicorn.error")]
    before = [(each, each.handlers[:], each.level, each.propagate) for each in loggers]
    for each in loggers:
        each.handlers[:], each.propagate = [], True
    yield io.StringIO()
    for each, handlers, level, propagate in before:
        each.handlers[:], each.propagate = handlers, propagate
        each.setLevel(level)
