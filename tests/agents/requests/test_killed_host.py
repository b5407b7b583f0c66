"""Kill -9 of the host between claim, execution and answer: each request has one effect and one answer."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from horae.model.accounts.principal import LOCAL

from .killed_host import STEPS
from .request_harness import FAMILY, RequestHarness, open_requests, open_store

ROOT = Path(__file__).parents[3]


def run_killed(directory: Path, step: str) -> None:
    """Start a host that is killed at this step of its first request."""
    command = [sys.executable, "-m", "tests.agents.requests.killed_host", str(directory), step]
    ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, timeout=60)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


@pytest.mark.parametrize("step", STEPS)
async def test_request_has_one_effect_whenever_the_host_is_killed(tmp_path: Path, step: str) -> None:
    async with open_requests(tmp_path) as requests:
        requests.put(FAMILY, "1-a.json", type="schedule_task", prompt="x", when="every 1h")
        requests.put(FAMILY, "2-a.json", type="message", text="hello")
    await asyncio.to_thread(run_killed, tmp_path, step)
    async with open_store(tmp_path) as store:
        again = RequestHarness(store, tmp_path / "agents")
        assert list(again.workspace.claimed.iterdir())
        await again.host.watcher.recover()
        await again.look()
        assert not list(again.workspace.claimed.iterdir())
        assert (await again.service.tasks.count(LOCAL)).number == 1
        assert await again.texts(FAMILY) == ["hello"]
        assert len(await again.deliveries()) == 1
        for name, is_repeated in (("1-a.json", step != "claimed"), ("2-a.json", False)):
            answer = again.answer(FAMILY, name)
            assert answer["status"] == "accepted"
            assert answer.get("repeated", False) is is_repeated
