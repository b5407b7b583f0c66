"""`horae up --stations` and `horae station run` as real processes: one call end to end, and plans while all of them are killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from horae import Horae
from horae.model.run import RunState
from horae.stations.keys import load_or_make_keys

from ..servers.redis import RedisServer
from .ports import free_address
from .station_processes import CLOCK, WORKERS, StationProcesses, check_ledger

PATIENCE = 120.0
SHOP = """
from horae.stations import Context, Station

station = Station("orders")


@station.api("pack")
def pack(order: int, context: Context) -> dict:
    return {"packed": order, "state": context.plan.get("state")}
"""
SETTINGS = """
[targets.station]
heartbeat = 0.3
liveness = 1.5
worker_wait = 2.0
answer_timeout = 2.0
"""


class Node:
    """A folder with a store, and `horae` commands as processes there."""

    def __init__(self, folder: Path, url: str | None = None) -> None:
        self.folder = folder
        self.url = url or f"sqlite:///{folder}/horae.db"
        self.listen = free_address()
        (folder / "horae.toml").write_text(SETTINGS)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HORAE_")}
        self.environment = {
            **inherited,
            **{name: str(folder / name) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")},
            "HORAE_STORE": self.url,
            "HORAE_API": "off",
            "HORAE_STATION_LISTEN": self.listen,
            "HORAE_STATION_PUBLISH": free_address(),
            "HORAE_STATION_DIRECTORY": str(folder / "node"),
            "HORAE_STATION_KEYS": str(folder / "keys"),
        }

    @property
    def key(self) -> str:
        return load_or_make_keys(self.folder / "node" / "server.key").public

    async def start(self, *arguments: str, **environment: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "horae", *arguments, cwd=self.folder, env={**self.environment, **environment},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    async def ok(self, *arguments: str) -> str:
        process = await self.start(*arguments)
        async with asyncio.timeout(PATIENCE):
            output, _ = await process.communicate()
        assert process.returncode == 0, output.decode()
        return output.decode()

    async def json(self, *arguments: str) -> Any:
        return json.loads(await self.ok(*arguments, "--json"))

    @asynccontextmanager
    async def running(self, *arguments: str, **environment: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run a command until the end of the block; its group of processes ends with it."""
        process = await self.start(*arguments, **environment)
        try:
            yield process
        finally:
            kill_group(process)
            await process.wait()


def kill_group(process: asyncio.subprocess.Process) -> None:
    """End a process that this test started, with its children: it leads a session of its own."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)


async def until(happened: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await happened():
            await CLOCK.pause(0.05)


@pytest.mark.long
async def test_node_and_station_as_processes_execute_a_plan_and_a_task(tmp_path: Path) -> None:
    node = Node(tmp_path)
    (tmp_path / "shop.py").write_text(SHOP)
    key = (await node.ok("station", "key", "--station", "orders", "-q")).strip()
    await node.ok("station", "allow", "orders", "--key", key)
    servers = {"HORAE_STATION_SERVERS": f"{node.listen}#{node.key}"}
    async with node.running("up", "--stations"), node.running("station", "run", "shop.py", "--json", **servers) as shop:
        assert shop.stdout is not None
        async with asyncio.timeout(PATIENCE):
            joined = json.loads(await shop.stdout.readline())
        assert joined["station"] == "orders"
        # The arguments of a plan arrive as frames, of which this function takes none: it is refused, and retried.
        fields = ("--type", "time", "--description", "seven", "--id", "7")
        await node.ok("plan", "add", "orders", "--command", "pack", *fields)
        target = '{"kind": "station", "station": "orders", "command": "pack"}'
        task = (await node.ok("add", "now", "--target", target, "--payload", '{"order": 8}', "-q")).strip()
        async with Horae(node.url, engine=False) as app:
            run = await app.wait_for(task, "60s")
        assert (run.state, json.loads(run.result_json or "")["packed"]) == (RunState.SUCCEEDED, 8)

        async def over() -> bool:
            return bool((await node.json("plan", "message", "7"))["state"] == "error")

        await until(over)
        plan = await node.json("plan", "message", "7")
        assert [each["error"] for each in plan["results"]] == ["ARGUMENT_INVALID: order is missing"] * 4
        (station,) = await node.json("station", "ls")
        assert station["nodes"][0]["workers"][0]["last_status"] is not None


@pytest.mark.long
@pytest.mark.serial("its stations are silent for a part of a second when the machine is busy")
@pytest.mark.parametrize("store", ["sqlite", "redis"])
async def test_plans_survive_kills_and_freezes_of_stations_and_of_the_node(
    tmp_path: Path, store: str, request: pytest.FixtureRequest
) -> None:
    """No plan lost, none executed twice without its retry being due; API and vote plans, the node is its own process."""
    node = Node(tmp_path, request.getfixturevalue("redis_url") if store == "redis" else None)
    shop = StationProcesses(tmp_path, "shop", node.listen, node.key)
    board = StationProcesses(tmp_path, "board", node.listen, node.key)
    async with Horae(node.url, engine=False) as app:
        plans = app.service.plans
        for name, processes, kind in (("shop", shop, "api"), ("board", board, "vote")):
            for worker in WORKERS:
                key = load_or_make_keys(processes.key_file(worker)).public
                await app.service.stations.allow(app.who, name, key, kind=kind, worker=worker)
        up = await node.start("up", "--stations")
        try:
            await asyncio.gather(*(each.start(worker) for each in (shop, board) for worker in WORKERS))
            made = [
                await plans.add(app.who, {
                    "station": "board" if number % 6 == 0 else "shop", "command": "work", "argument": "{}",
                    "plan_type": "second", "plan_value": 1, "plan_repet": 2, "no_keep": True, "plan_id": number + 1,
                })
                for number in range(24)
            ]  # fmt: skip
            await shop.until(3)
            await shop.kill("ann")
            shop.signal("bob", signal.SIGSTOP)
            board.signal("bob", signal.SIGSTOP)
            await shop.start("ann")
            kill_group(up)
            await up.wait()
            up = await node.start("up", "--stations")
            shop.signal("bob", signal.SIGCONT)
            board.signal("bob", signal.SIGCONT)
            await board.kill("cyd")
            await board.start("cyd")

            async def over() -> bool:
                return not await plans.all(app.who)

            await until(over)
            views = [await plans.get(app.who, each.plan.hex_id) for each in made]
        finally:
            await asyncio.gather(shop.stop(), board.stop())
            kill_group(up)
            await up.wait()
        assert [(each.status.state.name, each.status.real_repet) for each in views] == [("CLOSED", 2)] * len(made)
    check_ledger(shop.lines())
    check_ledger(board.lines())
    ended = Counter(line["key"] for line in shop.lines() if line["what"] == "end")
    assert len(ended) == 40
    votes = {(line["key"], line["worker"]) for line in board.lines() if line["what"] == "end"}
    assert len(votes) == 8 * len(WORKERS)
    if store == "redis":
        check_layout(request.getfixturevalue("redis_server"), node.url)


def check_layout(server: RedisServer, url: str) -> None:
    """Redis alone shows the same: nothing is queued, each plan was executed twice, and each vote has all participants."""
    database = int(url.rpartition("/")[2])
    assert server.ask("ZCARD", "plan:time:set", database=database) == "0"
    for number in range(24):
        name = f"{'board' if number % 6 == 0 else 'shop'}:{number + 1:016x}"
        message = json.loads(server.ask("GET", f"plan:msg:{name}", database=database))
        assert (message["real_repet"], message["last_state"]) == (2, 1)
        work = json.loads(server.ask("GET", f"plan:work:{name}", database=database))
        expected = [["\x01\x01T", each, each] for each in WORKERS] if number % 6 == 0 else None
        assert work == expected or (expected is None and work[0][0] == "\x01\x01T")
