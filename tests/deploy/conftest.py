"""Fixtures of deploy tests: a deployment that leaves no process, and a notify socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.operating.deployment import Deployment
from tests.deploy.notify_receiver import NotifyReceiver


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.end()


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[NotifyReceiver]:
    made = NotifyReceiver(tmp_path)
    yield made
    made.close()
