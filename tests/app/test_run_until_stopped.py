"""`app.run()`: SIGTERM and Ctrl-C stop it gracefully; active runs are released, and nothing is printed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from horae import Horae
from horae.model.reason import Reason
from horae.ports.store import RunFilter

TIMEOUT_SECONDS = 60
SCRIPT = """
import asyncio, sys
from datetime import timedelta
from horae import Horae
from horae.engine.settings import EngineSettings

app = Horae(sys.argv[1], settings=EngineSettings(grace=timedelta(milliseconds=1)))

@app.task("every 1s", name="endless", overlap="skip")
async def endless() -> None:
    print("going", flush=True)
    await asyncio.Event().wait()

app.run()
"""


def start(script: str, url: str, first: str) -> subprocess.Popen[str]:
    """Start the app of this script and wait for its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == first
    return process


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_signal_stops_the_app_gracefully(tmp_path: Path, how: signal.Signals) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    process = start(SCRIPT, url, "going\n")
    process.send_signal(how)
    _, complaints = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0
    assert "Traceback" not in complaints
    async with Horae(url, engine=False) as app:
        assert await app.store.nodes() == ()
        assert Reason.RELEASED in [run.reason for run in (await app.store.runs(RunFilter())).items]


DRAINED = """
import sys
from horae import Horae

app = Horae(sys.argv[1])

@app.task("every 1s", name="beat")
def beat() -> None:
    print("beat", flush=True)

app.run()
"""


async def test_drained_node_exits(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    process = start(DRAINED, url, "beat\n")
    async with Horae(url, engine=False) as app:
        (node,) = await app.service.nodes.all(app.who)
        await app.service.nodes.drain(app.who, node.node.id)
    process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0
    async with Horae(url, engine=False) as app:
        assert await app.store.nodes() == ()
        assert {run.reason for run in (await app.store.runs(RunFilter())).items} == {None}
