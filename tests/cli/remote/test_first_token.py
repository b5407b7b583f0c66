"""The first token file stays next to an app's store after a stop, and the next start names it."""

from __future__ import annotations

import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cli.operating.deployment import Deployment

_APP: Final = """from horae import Horae

app = Horae({store!r})


@app.task
def report() -> str:
    return "done"
"""
_WITH_API: Final = {"HORAE_API": "on", "HORAE_STORE": ""}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    found = Deployment(tmp_path)
    yield found
    found.end()


def start_and_stop(deployment: Deployment, number: signal.Signals) -> str:
    """Start `horae up jobs.py` and stop it by a signal; return the line about the token."""
    up = deployment.up("jobs.py", "--port", "0", environment=_WITH_API)
    line = up.expect("Token ")
    up.ready().signal(number)
    assert up.ends() == 0
    return line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_token_file_of_app_store_survives_stop(deployment: Deployment, number: signal.Signals) -> None:
    deployment.write("jobs.py", _APP.format(store="sqlite:///jobs.db"))
    path = deployment.folder / "jobs.db.token"
    assert str(path) in start_and_stop(deployment, number)
    token = path.read_text(encoding="ascii")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert str(path) in start_and_stop(deployment, number)
    assert path.read_text(encoding="ascii") == token


def test_token_file_of_memory_store_is_removed_at_stop(deployment: Deployment) -> None:
    deployment.write("jobs.py", _APP.format(store="memory://"))
    assert ".token" in start_and_stop(deployment, signal.SIGTERM)
    assert not [*deployment.folder.rglob("*.token")]
