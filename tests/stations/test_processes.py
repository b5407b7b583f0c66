"""Three station processes are killed, frozen and restarted in the middle of API and vote runs of a real engine."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from horae import Horae
from horae.model.policy import RetryPolicy
from horae.model.run import RunState
from horae.stations.keys import SERVER_KEY_FILE, load_or_make_keys

from .ports import free_address
from .station_processes import CLOCK, WORKERS, StationProcesses, check_ledger

RETRY = RetryPolicy(attempts=12, backoff=timedelta(milliseconds=300), factor=1, jitter="none")


@pytest.mark.serial("its stations are silent for a part of a second when the machine is busy")
async def test_killed_frozen_and_restarted_stations_lose_nothing_and_repeat_only_retries(tmp_path: Path) -> None:
    """No plan lost, none executed twice without its retry being due; the ledger is written by the stations."""
    listen, publish = free_address(), free_address()
    server_key = load_or_make_keys(tmp_path / SERVER_KEY_FILE).public
    settings = {
        "enabled": True, "listen": listen, "publish": publish, "directory": str(tmp_path),
        "heartbeat": 0.3, "liveness": 1.5, "worker_wait": 1.0, "answer_timeout": 2.0,
    }  # fmt: skip
    app = Horae(f"sqlite:///{tmp_path}/horae.db", targets={"station": settings})
    shop = StationProcesses(tmp_path, "shop", listen, server_key)
    board = StationProcesses(tmp_path, "board", listen, server_key)
    async with app:
        for name, processes, kind in (("shop", shop, "api"), ("board", board, "vote")):
            for worker in WORKERS:
                key = load_or_make_keys(processes.key_file(worker)).public
                await app.service.stations.allow(app.who, name, key, kind=kind, worker=worker)
        try:
            await asyncio.gather(*(each.start(worker) for each in (shop, board) for worker in WORKERS))
            tasks = []
            for number in range(60):
                target = {"kind": "station", "station": "board" if number % 6 == 0 else "shop", "command": "work"}
                tasks.append(await app.schedule(target, "now", {"number": number}, retry=RETRY, timeout="20s"))
            await shop.until(5)
            await shop.kill("ann")
            shop.signal("bob", signal.SIGSTOP)
            await board.kill("ann")
            board.signal("bob", signal.SIGSTOP)
            await shop.start("ann")
            await board.start("ann")
            await _until_removed(app, "bob")
            shop.signal("bob", signal.SIGCONT)
            board.signal("bob", signal.SIGCONT)
            await shop.kill("cyd")
            await shop.start("cyd")
            ended = [await app.wait_for(task.id, "90s") for task in tasks]
        finally:
            await asyncio.gather(shop.stop(), board.stop())
        assert {run.state for run in ended} == {RunState.SUCCEEDED}
        runs = [run async for run in app.runs(limit=None)]
        attempts = Counter(run.task_id for run in runs)
        assert max(attempts.values()) > 1, "nothing was interrupted"
    check_ledger(shop.lines())
    check_ledger(board.lines())
    begun = Counter((line["key"], line["worker"]) for line in board.lines() if line["what"] == "end")
    assert len({key for key, _ in begun}) == 10
    assert len(begun) == 30


async def _until_removed(app: Horae, worker: str) -> None:
    """Wait until the node has noticed that the workers of this name are silent."""
    hub = app._targets["station"].server.hub
    async with asyncio.timeout(60):
        while any(each.name == worker for each in hub.workers):
            await CLOCK.pause(0.02)


def test_checker_finds_an_execution_without_a_retry() -> None:
    line = {"what": "begin", "key": "occ_1", "attempt": 1, "worker": "ann"}
    with pytest.raises(AssertionError):
        check_ledger([line, line])
    check_ledger([line, {**line, "attempt": 2}])
