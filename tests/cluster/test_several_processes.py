"""kill -9 of one of three engines under one supervisor, under load: its runs are taken over, and nothing has an effect twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from horae import Horae
from horae.clock import SystemClock
from tests.cluster.scenario import ON_ONE_STORE, last_instant, steady_series
from tests.cluster.steady_client import SteadyClient
from tests.faults.client import add, call_app
from tests.faults.functions import FOLDER
from tests.faults.processes import ROOT, START_SECONDS, is_alive
from tests.faults.scenario import has_marks, marks, violations
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.servers.server import PATIENCE
from tests.sizes import sized

PROCESSES: Final = 3
KILLS: Final = sized(3, soak=20)
SECONDS: Final = sized(6, soak=30)
_APP: Final = """
from datetime import timedelta
from horae import Horae
from horae.engine.settings import EngineSettings
from horae.ports.store import Terms
from tests.faults.functions import register

app = Horae({url!r}, settings=EngineSettings(terms=Terms(timedelta(seconds=3), timedelta(seconds=1))))
register(app)
"""


@contextmanager
def running_group(testbed: Testbed) -> Iterator[subprocess.Popen[bytes]]:
    """Run `horae worker --processes 3` until the block ends, and check that SIGTERM drains all of them."""
    app = testbed.folder / "several_app.py"
    app.write_text(_APP.format(url=testbed.url))
    command = [sys.executable, "-m", "horae", "worker", str(app), "--processes", str(PROCESSES), "--quiet"]
    environment = {**os.environ, FOLDER: str(testbed.folder), "PYTHONPATH": str(ROOT)}
    with (testbed.folder / "group.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            yield process
            process.terminate()
            assert process.wait(START_SECONDS) == 0, (testbed.folder / "group.log").read_text()
        finally:
            process.kill()
            process.wait()


def children(process: subprocess.Popen[bytes]) -> list[int]:
    """Return the children that live: a killed one stays as a zombie until the supervisor has noticed."""
    found = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    return [pid for pid in found if is_alive(pid)]


async def count_nodes(app: Horae) -> int:
    return len(await app.service.nodes.all(app.who))


@ON_ONE_STORE
def test_killed_process_loses_and_repeats_nothing(testbed: Testbed) -> None:
    chance = random.Random(18)
    with running_group(testbed) as group, SteadyClient(testbed) as client:
        # The series begin when all processes are there: on a busy machine a series that ended before would be refused.
        wait_until(lambda: call_app(testbed, count_nodes) == PROCESSES, PATIENCE, "all processes")
        due = add(testbed, *(steady_series(SECONDS, every=0.1, begin=2.0) for _ in range(4)))
        wait_until(lambda: len({mark.pid for mark in marks(testbed, "effect")}) > 1, PATIENCE, "two busy processes")
        for _ in range(KILLS):
            victim = chance.choice(children(group))
            os.kill(victim, signal.SIGKILL)
            effects = len(marks(testbed, "effect"))
            wait_until(has_marks(testbed, "effect", effects + 20), PATIENCE, "effects after the kill")
            wait_until(lambda: len(children(group)) == PROCESSES, PATIENCE, "the process again")
        client.end()
        due += tuple(client.acknowledged)
        wait_until_quiet(testbed, last_instant(*due), PATIENCE)
    assert violations(testbed, *due) == []
    assert SystemClock().now() > last_instant(*due)
