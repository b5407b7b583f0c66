"""`horae up` with real processes: its listen address, the first token, and requests while the API process is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from horae.cli.output.printer import Printer
from horae.cli.output.startup_lines import show_no_api
from horae.node.api_server import ListenAddress, open_api_socket
from tests.api.api_server import TASK
from tests.api.up_process import TIMEOUT_SECONDS, WITH_API, Up, run_up
from tests.faults.processes import is_alive


def read_token(ready: dict[str, Any]) -> dict[str, str]:
    path = Path(ready["token_file"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return {"Authorization": f"Bearer {path.read_text(encoding='ascii').strip()}"}


async def test_first_start_writes_a_working_token_readable_by_the_user_only(tmp_path: Path) -> None:
    async def use(ready: dict[str, Any]) -> str:
        async with aiohttp.ClientSession(ready["url"], headers=read_token(ready)) as session:
            async with session.get("/readyz") as answer:
                assert (await answer.json())["parts"]["store"]
            async with session.post("/v1/tasks", json={**TASK, "when": "now"}) as answer:
                assert answer.status == 201
                return str((await answer.json())["id"])

    with run_up(tmp_path, "--port", "0") as first:
        ready = first.expect("api.ready")
        assert ready["first_start"]
        assert ready["url"].startswith("http://127.0.0.1:")
        made = await use(ready)
        # The engine process is notified at once.
        assert first.expect("task.said")["task_id"] == made
        assert first.stop() == 0
        assert "horae_" not in json.dumps(first.lines)
    with run_up(tmp_path, "--port", "0") as second:
        again = second.expect("api.ready")
        assert not again["first_start"]
        await use(again)
        assert second.stop() == 0


class CreatesDuringKills:
    """Creates tasks while the API process is killed repeatedly; a request without a response is sent again with its key."""

    number: Final = 150
    kills: Final = (40, 100)

    def __init__(self, running: Up, session: aiohttp.ClientSession) -> None:
        self._running = running
        self._session = session
        self._reached = {kill: asyncio.Event() for kill in self.kills}
        self.done: list[str] = []

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._kill())
            for first in range(8):
                group.create_task(self._create_every_eighth(first))

    async def _create_every_eighth(self, first: int) -> None:
        for key in range(first, self.number, 8):
            made = await self._create(key)
            self.done.append(made)
            if len(self.done) in self._reached:
                self._reached[len(self.done)].set()

    async def _create(self, key: int) -> str:
        body, headers = {**TASK, "name": f"task {key}"}, {"Idempotency-Key": f"key-{key}"}
        while True:
            try:
                async with self._session.post("/v1/tasks", json=body, headers=headers) as answer:
                    if answer.status == 201:
                        return str((await answer.json())["id"])
                    assert answer.status == 409, await answer.text()
            except (aiohttp.ClientError, ConnectionError):
                continue

    async def _kill(self) -> None:
        for reached in self._reached.values():
            await reached.wait()
            os.kill(self._running.child("api_process"), signal.SIGKILL)
            await asyncio.to_thread(self._running.expect, "api.died")

    async def list_tasks(self) -> list[str]:
        async with self._session.get("/v1/tasks?limit=200") as answer:
            page = await answer.json()
        assert page["next_cursor"] is None
        return [each["id"] for each in page["items"]]


async def test_acknowledged_creates_exist_once_although_the_api_process_is_killed(tmp_path: Path) -> None:
    with run_up(tmp_path, "--port", "0") as running:
        ready = running.expect("api.ready")
        worker = running.child("worker_process")
        async with aiohttp.ClientSession(ready["url"], headers=read_token(ready)) as session:
            found = CreatesDuringKills(running, session)
            await found.run()
            done, stored = found.done, await found.list_tasks()
        assert len(done) == len(set(done)) == CreatesDuringKills.number
        assert sorted(stored) == sorted(done)
        assert is_alive(worker)
        assert running.stop() == 0


def test_explicit_port_in_use_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "horae", "up", "--store", f"sqlite:///{tmp_path}/h.db", "--port", str(port)]
        ended = subprocess.run(
            command, env=WITH_API, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
    assert ended.returncode == 5
    assert str(port) in ended.stderr
    assert "--no-api" in ended.stderr


def test_default_port_in_use_starts_without_the_api(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        address = ListenAddress("127.0.0.1", port, chosen=False)
        with open_api_socket(address, partial(show_no_api, Printer(json=True), address)) as listener:
            assert listener is None
    printed = json.loads(capsys.readouterr().out)
    assert printed["type"] == "api.off"
    assert str(port) in printed["because"]


async def test_memory_store_is_served_by_the_engine_process(tmp_path: Path) -> None:
    with run_up(tmp_path, "--port", "0", store="memory://") as running:
        ready = running.expect("api.ready")
        async with aiohttp.ClientSession(ready["url"], headers=read_token(ready)) as session:
            async with session.post("/v1/tasks", json={**TASK, "when": "now"}) as answer:
                assert answer.status == 201
            async with session.get("/readyz") as answer:
                assert (answer.status, (await answer.json())["status"]) == (200, "ready")
        running.expect("task.said")
        assert running.stop() == 0
        assert not Path(ready["token_file"]).exists()


async def test_api_runs_without_the_engine_and_starting_neither_is_refused(tmp_path: Path) -> None:
    with run_up(tmp_path, "--port", "0", "--no-engine") as running:
        ready = running.expect("api.ready")
        async with aiohttp.ClientSession(ready["url"]) as session, session.get("/readyz") as answer:
            assert answer.status == 200
            parts = (await answer.json())["parts"]
            assert (parts["store"], parts["engine"]) == (True, False)
        assert running.stop() == 0
    nothing = [sys.executable, "-m", "horae", "up", "--no-engine", "--no-api", "--store", f"sqlite:///{tmp_path}/h.db"]
    ended = await asyncio.to_thread(
        subprocess.run, nothing, env=WITH_API, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )
    assert ended.returncode == 2
