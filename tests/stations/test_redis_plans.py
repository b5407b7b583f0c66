"""redis-cli adds, moves, edits and removes plans while a node process and a station run; Redis alone shows the result."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from horae import Horae
from horae.clock import SystemClock
from horae.stations import Context, Station
from horae.stations.keys import SERVER_KEY_FILE, load_or_make_keys
from tests.api.up_process import Up, run_up
from tests.servers.redis import RedisServer

from .ports import free_address

CLOCK = SystemClock()
PATIENCE = 60.0
QUEUE = "plan:time:set"
REMOVE_IN_TIME = (
    "local due = redis.call('ZSCORE', KEYS[1], ARGV[1]) "
    "return due and tonumber(due) > tonumber(redis.call('TIME')[1]) and redis.call('ZREM', KEYS[1], ARGV[1]) or 0"
)
"""Remove a plan only if its instant has not come: an answer of 0 says that the machine was too slow for this test."""
REMOVAL_SECONDS = 15
"""A node looks at the queue every 3.75 s: it knows the instant long before it comes, and the removal is before it."""


class RedisCli:
    def __init__(self, server: RedisServer, url: str) -> None:
        self._server = server
        self._database = int(urlsplit(url).path[1:])

    def __call__(self, *words: str) -> str:
        return self._server.ask(*words, database=self._database)

    def add(self, member: str, seconds: int, **fields: Any) -> None:
        """Write a plan as a program in another language would: a message, then its member.

        With `no_keep` each instant is executed, also where an execution takes longer than the second to the next one.
        """
        message = {
            "plan_type": 2,
            "plan_value": 1,
            "plan_repet": 1,
            "no_keep": True,
            "messages": ["water", '{"bed": 0}'],
        }
        self("SET", member, json.dumps(message | fields))
        self.move(member, seconds)

    def move(self, member: str, seconds: int) -> int:
        """Move a plan to so many seconds from now; return its score."""
        return self.move_to(member, int(CLOCK.now().timestamp()) + seconds)

    def move_to(self, member: str, score: int) -> int:
        self("ZADD", QUEUE, str(score), member)
        return score

    def message(self, member: str) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self("GET", member))
        return message

    def is_adopted(self, member: str) -> bool:
        """Whether the message has all fields of the document: its writer left most of them out."""
        return "exec_time" in self.message(member)

    def is_over(self, member: str) -> bool:
        """Whether the plan has left the queue after an execution, with its answer."""
        work = member.replace("plan:msg:", "plan:work:")
        return self("ZSCORE", QUEUE, member) == "" and self("EXISTS", work) == "1"

    async def until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not happened():
                await CLOCK.pause(0.1)


async def test_redis_cli_adds_moves_edits_and_removes_plans_of_a_running_node(
    tmp_path: Path, redis_server: RedisServer, redis_url: str
) -> None:
    """「系统取出小于当前时间的所有键,循环执行」; 「所有可执行的计划,都必须存在于执行队列中,否则将永不执行」."""
    listen, publish = free_address(), free_address()
    server_key = load_or_make_keys(tmp_path / SERVER_KEY_FILE).public
    (tmp_path / "horae.toml").write_text(
        f'[targets.station]\nlisten = "{listen}"\npublish = "{publish}"\ndirectory = "{tmp_path}"\n'
    )
    worker_key = tmp_path / "garden.key"
    async with Horae(redis_url, engine=False) as app:
        await app.service.stations.allow(app.who, "garden", load_or_make_keys(worker_key).public, worker="one")
    cli = RedisCli(redis_server, redis_url)
    watered: list[tuple[str, Any]] = []
    station = Station("garden", servers=listen, server_key=server_key, key_file=worker_key, worker="one")

    @station.api("water")
    def water(bed: int, context: Context) -> str:
        watered.append((context.plan["name"], bed))
        return f"bed {bed}"

    with run_up(tmp_path, "--stations", "--no-api", store=redis_url) as up:
        await asyncio.to_thread(up.expect, "node.ready")
        stop = asyncio.Event()
        running = asyncio.create_task(station.run(stop))
        try:
            await asyncio.wait_for(station.until_joined(), PATIENCE)
            await _play(cli, up)
        finally:
            stop.set()
            await running
    counts = {int(name.rpartition(":")[2], 16): sum(each[0] == name for each in watered) for name, _ in watered}
    assert counts == {0xA: 3, 0xB: 1, 0xC: 1, 0xE: 1}
    assert {bed for name, bed in watered if name.endswith("c")} == {7}


async def test_plans_are_exported_with_the_commands_of_the_page_and_imported(
    tmp_path: Path, redis_server: RedisServer, redis_url: str
) -> None:
    """The lines for `redis-cli` under "Moving from Zero" run as they are printed, apart from the address."""
    cli = RedisCli(redis_server, redis_url)
    fields = {
        "request_id": "r 1",
        "station": "garden",
        "caller": "ann",
        "description": 'rosen, "rot"',
        "real_repet": 4,
        "plan_time": 4_102_444_800,
    }
    for number in (1, 2):
        message = {
            **fields,
            "plan_id": number,
            "plan_type": 2,
            "plan_value": 20,
            "plan_repet": -1,
            "messages": ["water"],
        }
        cli("SET", f"plan:msg:garden:{number:x}", json.dumps(message))
    page = (Path(__file__).parents[2] / "docs" / "plans.md").read_text(encoding="utf-8")
    (block,) = (each for each in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "--scan" in each)
    lines = re.sub(r"ZERO=\S+", f"ZERO={redis_url}", block)
    shell = await asyncio.create_subprocess_exec("bash", "-euo", "pipefail", "-c", lines, cwd=tmp_path)
    assert await asyncio.wait_for(shell.wait(), PATIENCE) == 0
    async with Horae(f"sqlite:///{tmp_path}/horae.db", engine=False) as app:
        exported = json.loads((tmp_path / "plans.json").read_text())
        rows = await app.service.plans.import_plans(app.who, exported)
        assert [each.refusal for each in rows] == [None, None]
        assert sorted(each.name for each in rows) == [
            "msg:garden:0000000000000001",
            "msg:garden:0000000000000002",
        ]
        view = await app.service.plans.get(app.who, "1")
    assert (view.plan.description, view.status.real_repet) == (fields["description"], 4)


async def _play(cli: RedisCli, up: Up) -> None:
    names = {letter: f"plan:msg:garden:{letter}" for letter in "abcdef"}
    repeated, moved, edited, removed, last, malformed = names.values()
    cli.add(repeated, 2, plan_repet=3)
    for member in (moved, edited, removed, last):
        cli.add(member, 3600, plan_type=1, plan_value=0)
    cli("SET", malformed, "no json")
    cli.move(malformed, 0)
    await cli.until(lambda: all(map(cli.is_adopted, (repeated, moved, edited, removed, last))))
    # Moved to an earlier instant, and taken out of the queue once the node knows this instant.
    instant = cli.move(removed, REMOVAL_SECONDS)
    # Moved to an earlier instant.
    cli.move(moved, 1)
    # Edited, then moved.
    cli("SET", edited, json.dumps(cli.message(edited) | {"messages": ["water", '{"bed": 7}']}))
    cli.move(edited, 1)
    await cli.until(lambda: cli.message(removed)["plan_time"] == instant)
    assert cli("EVAL", REMOVE_IN_TIME, "1", QUEUE, removed) == "1"
    # The next plan is due later, and is the proof that the instant of the removed one has passed.
    cli.move_to(last, instant + 1)
    await cli.until(lambda: all(map(cli.is_over, (repeated, moved, edited, last))))
    assert cli.message(repeated)["real_repet"] == 3
    assert cli.message(moved)["last_state"] == 1
    assert json.loads(cli("GET", "plan:work:garden:c")) == [["\x01\x01T", "bed 7"]]
    assert cli.message(removed)["real_repet"] == 0
    assert cli("EXISTS", "plan:work:garden:d") == "0"
    assert cli("ZRANGE", QUEUE, "0", "-1") == malformed
    assert cli("GET", malformed) == "no json"
    # Put back into the queue, and executed; then the plan of an hour is closed by deleting its message.
    cli.add(removed, 3600, plan_type=1, plan_value=0)
    await cli.until(lambda: cli.is_adopted(removed))
    cli("DEL", removed)
    await cli.until(lambda: cli("ZSCORE", QUEUE, removed) == "")
    assert cli("EXISTS", removed) == "0"
    assert up.process.poll() is None
