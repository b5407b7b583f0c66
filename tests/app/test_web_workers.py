"""`app.lifespan` under a real web server with several workers: every occurrence runs once."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

from horae import Horae
from horae.model.run import RunState

TIMEOUT_SECONDS = 120
SITE = """
import os
from starlette.applications import Starlette
from horae import Horae

horae = Horae(os.environ["SITE_STORE"])

@horae.task("every 1s", name="beat")
async def beat() -> int:
    return os.getpid()

site = Starlette(lifespan=horae.lifespan)
"""


def start_server(folder: Path, url: str, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "uvicorn", "site_under_test:site", "--workers", "2", "--port", str(port)]
    return subprocess.Popen(command, cwd=folder, env={**os.environ, "SITE_STORE": url}, start_new_session=True)


async def test_several_web_workers_run_every_occurrence_once(tmp_path: Path) -> None:
    (tmp_path / "site_under_test.py").write_text(SITE)
    url = f"sqlite:///{tmp_path}/horae.db"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = start_server(tmp_path, url, port)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), Horae(url, engine=False) as app:
            while not (tasks := await app.tasks(name="beat")) or len(await app.store.nodes()) < 2:
                await app.clock.pause(0.05)
            for _ in range(3):
                await tasks[0].wait("60s")
            runs = await tasks[0].runs()
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(TIMEOUT_SECONDS)
    ran = [(str(run.planned), run.attempt) for run in runs if run.state is RunState.SUCCEEDED]
    assert len(ran) >= 3
    assert max(Counter(ran).values()) == 1
