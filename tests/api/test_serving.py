"""`horae up` with real processes: where it listens, its first token, and what becomes of requests when something dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

import aiohttp
import pytest

from horae.cli.output.printer import Printer
from horae.cli.output.startup_lines import show_no_api
from horae.node.api_server import ListenAddress, open_api_socket
from tests.api.served import TASK
from tests.faults.processes import is_alive

_ENOUGH: Final = 40
WITH_API: Final = {name: value for name, value in os.environ.items() if name not in ("HORAE_API", "HORAE_STORE")}


class Up:
    """A running `horae up --json`: each line is one thing that it says."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[dict[str, Any]] = []

    @property
    def stdout(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def expect(self, kind: str) -> dict[str, Any]:
        for line in self.stdout:
            self.said.append(json.loads(line))
            if self.said[-1]["type"] == kind:
                return self.said[-1]
        raise AssertionError(f"{kind} was never said, but {self.said}")

    def child(self, module: str) -> int:
        """The process that runs this module."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        for each in map(int, children.split()):
            if module in Path(f"/proc/{each}/cmdline").read_text(encoding="utf-8"):
                return each
        raise AssertionError(f"no child runs {module}")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_ENOUGH)


@contextmanager
def up(folder: Path, *options: str, store: str | None = None) -> Iterator[Up]:
    url = store or f"sqlite:///{folder}/horae.db"
    command = [sys.executable, "-m", "horae", "up", "--json", "--store", url, *options]
    environment = {**WITH_API, "XDG_DATA_HOME": str(folder), "HOME": str(folder)}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    # Whoever waits for a word that never comes hears the end of it.
    patience = threading.Timer(3 * _ENOUGH, process.kill)
    patience.start()
    try:
        yield Up(process)
    finally:
        patience.cancel()
        process.kill()
        process.wait(_ENOUGH)
        if process.stdout is not None:
            process.stdout.close()


def token_in(ready: dict[str, Any]) -> dict[str, str]:
    path = Path(ready["token_file"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return {"Authorization": f"Bearer {path.read_text(encoding='ascii').strip()}"}


async def test_the_first_start_makes_a_token_that_works_and_is_kept_for_its_user_alone(tmp_path: Path) -> None:
    async def use(ready: dict[str, Any]) -> str:
        async with aiohttp.ClientSession(ready["url"], headers=token_in(ready)) as session:
            async with session.get("/readyz") as answer:
                assert (await answer.json())["parts"]["store"]
            async with session.post("/v1/tasks", json={**TASK, "when": "now"}) as answer:
                assert answer.status == 201
                return str((await answer.json())["id"])

    with up(tmp_path, "--port", "0") as first:
        ready = first.expect("api.ready")
        assert ready["first_start"]
        assert ready["url"].startswith("http://127.0.0.1:")
        made = await use(ready)
        # The engine beside it hears of it at once.
        assert first.expect("task.said")["task_id"] == made
        assert first.stop() == 0
        assert "horae_" not in json.dumps(first.said)
    with up(tmp_path, "--port", "0") as second:
        again = second.expect("api.ready")
        assert not again["first_start"]
        await use(again)
        assert second.stop() == 0


class Storm:
    """Creates go on while the server is killed again and again; who gets no answer asks again with the same key."""

    number: Final = 150
    kills: Final = (40, 100)

    def __init__(self, running: Up, session: aiohttp.ClientSession) -> None:
        self._running = running
        self._session = session
        self._reached = {kill: asyncio.Event() for kill in self.kills}
        self.done: list[str] = []

    async def rage(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._kill())
            for first in range(8):
                group.create_task(self._some(first))

    async def _some(self, first: int) -> None:
        for key in range(first, self.number, 8):
            made = await self._create(key)
            self.done.append(made)
            if len(self.done) in self._reached:
                self._reached[len(self.done)].set()

    async def _create(self, key: int) -> str:
        wish, headers = {**TASK, "name": f"task {key}"}, {"Idempotency-Key": f"key-{key}"}
        while True:
            try:
                async with self._session.post("/v1/tasks", json=wish, headers=headers) as answer:
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

    async def kept(self) -> list[str]:
        async with self._session.get("/v1/tasks?limit=200") as answer:
            page = await answer.json()
        assert page["next_cursor"] is None
        return [each["id"] for each in page["items"]]


async def test_what_was_acknowledged_is_there_once_however_often_the_server_is_killed(tmp_path: Path) -> None:
    with up(tmp_path, "--port", "0") as running:
        ready = running.expect("api.ready")
        worker = running.child("worker_process")
        async with aiohttp.ClientSession(ready["url"], headers=token_in(ready)) as session:
            found = Storm(running, session)
            await found.rage()
            done, kept = found.done, await found.kept()
        assert len(done) == len(set(done)) == Storm.number
        assert sorted(kept) == sorted(done)
        assert is_alive(worker)
        assert running.stop() == 0


def test_a_port_that_was_named_must_be_free(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "horae", "up", "--store", f"sqlite:///{tmp_path}/h.db", "--port", str(port)]
        ended = subprocess.run(command, env=WITH_API, capture_output=True, text=True, timeout=_ENOUGH, check=False)
    assert ended.returncode == 5
    assert str(port) in ended.stderr
    assert "--no-api" in ended.stderr


def test_a_usual_port_that_is_taken_is_said_and_done_without(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        address = ListenAddress("127.0.0.1", port, chosen=False)
        with open_api_socket(address, partial(show_no_api, Printer(json=True), address)) as listener:
            assert listener is None
    said = json.loads(capsys.readouterr().out)
    assert said["type"] == "api.off"
    assert str(port) in said["because"]


async def test_what_is_in_memory_is_served_by_the_engines_own_process(tmp_path: Path) -> None:
    with up(tmp_path, "--port", "0", store="memory://") as running:
        ready = running.expect("api.ready")
        async with aiohttp.ClientSession(ready["url"], headers=token_in(ready)) as session:
            async with session.post("/v1/tasks", json={**TASK, "when": "now"}) as answer:
                assert answer.status == 201
            async with session.get("/readyz") as answer:
                assert (answer.status, (await answer.json())["status"]) == (200, "ready")
        running.expect("task.said")
        assert running.stop() == 0
        assert not Path(ready["token_file"]).exists()


async def test_the_halves_run_apart(tmp_path: Path) -> None:
    with up(tmp_path, "--port", "0", "--no-engine") as running:
        ready = running.expect("api.ready")
        async with aiohttp.ClientSession(ready["url"]) as session, session.get("/readyz") as answer:
            assert answer.status == 200
            parts = (await answer.json())["parts"]
            assert (parts["store"], parts["engine"]) == (True, False)
        assert running.stop() == 0
    nothing = [sys.executable, "-m", "horae", "up", "--no-engine", "--no-api", "--store", f"sqlite:///{tmp_path}/h.db"]
    ended = await asyncio.to_thread(
        subprocess.run, nothing, env=WITH_API, capture_output=True, text=True, timeout=_ENOUGH, check=False
    )
    assert ended.returncode == 2
