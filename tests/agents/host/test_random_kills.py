"""Kill -9 of the whole node by seed: router, start of agents, requests, commits and deliveries are in flight.

Every message is answered once, every request has one effect, and every task fires once; no agent is left.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

import pytest

from horae import Horae
from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL
from horae.model.agents.delivery import FINISHED_KIND, PENDING_KIND, Delivery, delivery_from
from horae.model.agents.group import Group
from horae.model.run import RunState
from horae.ports.chat_messages import read_chat_message
from horae.ports.store import RunFilter, TaskFilter
from tests.servers.programs import program
from tests.sizes import sized

from .killed_node import STEPS, open_node

ROOT: Final = Path(__file__).parents[3]
WITHIN: Final = 60.0
LINGER: Final = 2.0
"""So long a node may live when it does not reach its step: it is killed in the midst of something, or idle."""
CLOCK: Final = SystemClock()
GROUPS: Final = ("family", "work")
PARTS: Final = 2
"""Seeds that have all steps together."""


def steps_of(seed: int) -> list[tuple[str, int]]:
    """Return the steps at which nodes die, each with its count; seeds in a row share out a shuffle of all steps."""
    steps = list(STEPS)
    Random(seed // PARTS).shuffle(steps)
    chance = Random(seed)
    return [(step, chance.choice((1, 1, 2, 4))) for step in steps[seed % PARTS :: PARTS]]


async def run_and_kill(folder: Path, step: str, count: int) -> None:
    """Run a node until it dies at the step, or kill it when it does not reach it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = (sys.executable, "-m", "tests.agents.host.killed_node", str(folder), step, str(count))
    node = await asyncio.create_subprocess_exec(*words, cwd=ROOT, env=environment, stderr=asyncio.subprocess.PIPE)
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            await node.wait()
    if node.returncode is None:
        node.send_signal(signal.SIGKILL)
    _, errors = await node.communicate()
    assert node.returncode == -signal.SIGKILL, errors.decode()


async def lines_of(app: Horae, group: Group) -> list[str]:
    """All lines of the assistant: one text answers several messages when they are in one prompt."""
    page = await app.store.read_messages(group.owner, group.stream, 0, 200)
    found = () if page is None else map(read_chat_message, page.messages)
    return [line for each in found if each.is_own for line in each.text.splitlines()]


async def find_faults(folder: Path, seed: int) -> list[str]:
    """Run the nodes of a seed, then one that lives; return every contradiction."""
    expected: dict[str, set[str]] = {name: set() for name in GROUPS}
    async with Horae(f"sqlite:///{folder}/horae.db", engine=False, zone="UTC") as client:
        groups = [
            await client.service.groups.add(LOCAL, name, f"web:{name}", requires_trigger=False) for name in GROUPS
        ]
        for number, (step, count) in enumerate(steps_of(seed)):
            for group in groups:
                await client.service.chats.send(LOCAL, group.chat, f"say message {number}")
                expected[group.folder].add(f"message {number}")
            asking = groups[number % len(groups)]
            await client.service.chats.send(LOCAL, asking.chat, f"schedule {number}")
            expected[asking.folder] |= {f"accepted {number}", f"task {number}"}
            await run_and_kill(folder, step, count)
    return await settle_and_check(folder, groups, expected)


async def settle_and_check(folder: Path, groups: list[Group], expected: dict[str, set[str]]) -> list[str]:
    faults: list[str] = []
    async with open_node(folder) as (app, target):
        with suppress(TimeoutError):
            async with asyncio.timeout(WITHIN):
                while not all([await is_settled(app, group, expected[group.folder]) for group in groups]):
                    await CLOCK.pause(0.05)
        for group in groups:
            said = Counter(await lines_of(app, group))
            wanted = Counter(expected[group.folder])
            faults += [
                f"{group.folder}: {text!r} was said {said[text]} times"
                for text in sorted(said | wanted)
                if said[text] != wanted[text]
            ]
            sent = Counter(
                line for each in await deliveries(app, group, FINISHED_KIND) for line in each.text.splitlines()
            )
            faults += [
                f"{group.folder}: {text!r} was sent {sent[text]} times"
                for text in sorted(sent | said)
                if sent[text] != said[text]
            ]
            for facts in (await app.store.tasks(TaskFilter(group.owner))).items:
                runs = (await app.store.runs(RunFilter(None, facts.task.id), limit=50)).items
                ended = [run for run in runs if run.state is not RunState.LOST]
                if len({run.planned for run in runs}) != 1 or [run.state for run in ended] != [RunState.SUCCEEDED]:
                    faults.append(f"{group.folder}: {facts.task.name} has the runs {[str(run.state) for run in runs]}")
        live = [each.run_id for each in target.live.all()]
        faults += [f"the agent {run} is left" for run in await target.runtime.reap(live)]
    return faults


async def deliveries(app: Horae, group: Group, kind: str) -> list[Delivery]:
    return [delivery_from(each) for each in (await app.store.records(kind, group.owner, limit=500)).items]


async def is_settled(app: Horae, group: Group, expected: set[str]) -> bool:
    if not set(await lines_of(app, group)) >= expected or await deliveries(app, group, PENDING_KIND):
        return False
    runs = (await app.store.runs(RunFilter(group.owner), limit=500)).items
    return all(run.state is not RunState.RUNNING for run in runs)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(sized(PARTS, soak=20)))
async def test_nothing_is_lost_or_repeated_when_nodes_are_killed_at_random(seed: int, tmp_path: Path) -> None:
    program("bwrap", package="bubblewrap")
    assert await find_faults(tmp_path, seed) == []


def test_the_seeds_reach_every_step() -> None:
    assert {step for seed in range(PARTS) for step, _ in steps_of(seed)} == set(STEPS)
