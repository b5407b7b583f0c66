"""Power loss (F15): every acknowledged write is there after any loss of unsynced data, and nothing is half-written."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from horae.errors import StoreError
from horae.lifecycle.fire import fire
from horae.lifecycle.plan import Draft, plan
from horae.lifecycle.recover import recover
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change
from horae.model.events.event import EventKind
from horae.model.outcome import Settlement, Succeeded
from horae.model.policy import DEFAULT_POLICIES
from horae.model.run import RunState
from horae.model.task import Target
from horae.ports.store import Node, TaskFilter
from horae.schedule import Every
from horae.stores.sqlite import SQLiteStore, writer
from horae.stores.sqlite.connection import SqliteConnection
from tests.faults.powerloss import LossyVFS, Power, PowerLost

LOSSES: Final = 30
"""Number of losses for each checkpoint setting."""
ROUNDS: Final = 16
BATCH: Final = 4
NODE: Final = "nod_1"
NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)


@dataclass
class Acknowledged:
    """Writes that the store has acknowledged; each requested batch must be there as a whole or not at all."""

    batches: list[list[str]] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    claimed: dict[str, int] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)

    @property
    def has_tasks(self) -> bool:
        return bool(self.tasks)


class Workload:
    """Tasks due every second: added, claimed and settled concurrently, as an engine does it."""

    def __init__(self, store: SQLiteStore, power: Power, chance: random.Random) -> None:
        self._store = store
        self._power = power
        self._chance = chance
        self.acknowledged = Acknowledged()

    async def run(self) -> None:
        await self._store.open()
        try:
            with suppress(PowerLost):
                await self._run_rounds()
        finally:
            await self._store.close()

    async def _run_rounds(self) -> None:
        await self._store.join(Node(NODE, "elsewhere/1/1", "1.0", NOON, NOON))
        for number in range(ROUNDS):
            now = NOON + (number + 1) * SECOND
            adding = (self._add(number, now), self._add(number + ROUNDS, now))
            for lost in await asyncio.gather(*adding, self._work(now), return_exceptions=True):
                if lost is not None:
                    raise lost
            await self._store.renew_lease(NODE, now)

    async def _add(self, number: int, now: datetime) -> None:
        changes = [_new_task(f"tsk_{number:04}{member}", now, self._chance) for member in range(BATCH)]
        names = [change.task.id for change in changes if change.task is not None]
        self.acknowledged.batches.append(names)
        await self._store.add(changes)
        self._power.acknowledge()
        self.acknowledged.tasks += names

    async def _work(self, now: datetime) -> None:
        claim = await self._store.claim_due(now, NODE, 100, partial(fire, claim=ClaimContext(NODE, now, 10 * SECOND)))
        self._power.acknowledge()
        runs = [run for _, run in claim.runs]
        self.acknowledged.claimed.update((run.id, run.token) for run in runs)
        done = [run for run in runs if self._chance.random() < 0.8]
        await self._store.settle([Settlement(run.id, run.token, Succeeded("1"), now, now) for run in done], settle)
        self._power.acknowledge()
        self.acknowledged.ended.update(run.id for run in done)


def _new_task(name: str, now: datetime, chance: random.Random) -> Change:
    payload = f'"{"x" * chance.choice([1, 100, 9_000])}"'
    draft = Draft("ada", "tick", Every(interval=SECOND), Target("function", "{}"), payload, DEFAULT_POLICIES)
    return plan(draft, name, now)


class UnsyncedStore(SQLiteStore):
    """Store that answers before its writes are synced."""

    def _open_writer_connection(self) -> SqliteConnection:
        link = super()._open_writer_connection()
        link.query("PRAGMA synchronous = NORMAL")
        return link


class Loss(NamedTuple):
    """Acknowledged writes and syncs of the store file before a power loss, and the file found after it."""

    known: Acknowledged
    syncs: int
    found: Path

    def faults(self) -> list[str]:
        return asyncio.run(faults_after(self.found, self.known))


def run_until_power_loss(folder: Path, seed: int, power: Power, kind: type[SQLiteStore] = SQLiteStore) -> Loss:
    """Run the workload until the power fails or the work is done."""
    chance = random.Random(seed)
    vfs = LossyVFS(f"lossy-{seed}", power)
    path, found = folder / f"{seed}.db", folder / f"{seed}-found.db"
    workload = Workload(kind(path, vfs=f"lossy-{seed}"), power, chance)
    try:
        asyncio.run(workload.run())
    finally:
        vfs.unregister()
    power.write_survivors(path, found, chance)
    return Loss(workload.acknowledged, power.syncs[str(path)], found)


async def faults_after(path: Path, known: Acknowledged) -> list[str]:
    """Return all faults of the file found after a power loss."""
    try:
        async with _opened(path) as store:
            return [*await store.check(), *[fault async for fault in _missing(store, known)]]
    except StoreError as error:
        return [f"damaged: {error}"]


async def _missing(store: SQLiteStore, known: Acknowledged) -> AsyncIterator[str]:
    there = {facts.task.id for facts in (await store.tasks(TaskFilter(), limit=1_000)).items}
    for task in known.tasks:
        if task not in there:
            yield f"lost: the task {task}"
    for batch in known.batches:
        if len(there & set(batch)) not in (0, len(batch)):
            yield f"half-written: a batch of tasks, {there & set(batch)}"
    created = [
        each.event.task_id for each in await store.events(0, 10_000) if each.event.kind is EventKind.TASK_CREATED
    ]
    if sorted(created) != sorted(there):
        yield "half-written: tasks without their events"
    for run_id, token in known.claimed.items():
        run = await store.run(run_id, None)
        if run is None or run.token != token:
            yield f"lost: the claim of {run_id}"
        elif run_id in known.ended and run.state is not RunState.SUCCEEDED:
            yield f"lost: the end of {run_id}"
    async for fault in _check_recovery(store, known):
        yield fault


async def _check_recovery(store: SQLiteStore, known: Acknowledged) -> AsyncIterator[str]:
    """Check that a new node recovers everything, with higher tokens than before."""
    later = NOON + 60 * SECOND
    await store.join(Node("nod_2", "elsewhere/2/2", "1.0", later, later))
    for node in (await store.renew_lease("nod_2", later)).nodes:
        await store.recover(node.id, node.renewals, partial(recover, now=later), 1_000)
    claim = await store.claim_due(later, "nod_2", 1_000, partial(fire, claim=ClaimContext("nod_2", later, 10 * SECOND)))
    if claim.runs and known.claimed and claim.runs[0].run.token <= max(known.claimed.values()):
        yield "lost: the last token"
    if known.has_tasks and not claim.runs:
        yield "lost: everything that is due"


@asynccontextmanager
async def _opened(path: Path) -> AsyncIterator[SQLiteStore]:
    store = SQLiteStore(path)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Number of file operations of the whole workload."""
    power = Power()
    loss = run_until_power_loss(tmp_path_factory.mktemp("whole"), 0, power)
    assert len(loss.known.tasks) == 2 * ROUNDS * BATCH
    return power.used


def moments(operations: int) -> list[int]:
    """Return the operations at which the power fails: one at random in each equal part of the workload."""
    share = operations // LOSSES
    return [1 + share * seed + random.Random(seed).randrange(share) for seed in range(LOSSES)]


@pytest.mark.parametrize("checkpointing", ["seldom", "often"])
def test_f15_acknowledged_writes_survive_power_loss(
    tmp_path: Path, operations: int, monkeypatch: pytest.MonkeyPatch, checkpointing: str
) -> None:
    if checkpointing == "often":
        monkeypatch.setattr(writer, "_IDLE_PAGES", 8)
        monkeypatch.setattr(writer, "_GROUP_PAGES", 8)
        monkeypatch.setattr(writer, "_BUSY_PAGES", 8)
    losses = []
    for seed, moment in enumerate(moments(operations)):
        losses.append(run_until_power_loss(tmp_path, seed, Power(moment)))
        assert losses[-1].faults() == [], f"seed {seed}, after {moment} operations"
    assert sum(loss.known.has_tasks for loss in losses) > LOSSES / 2
    assert (sum(loss.syncs for loss in losses) > 10 * LOSSES) is (checkpointing == "often")


@pytest.mark.parametrize("broken", ["a disk that lies", "a store that does not wait"])
def test_checker_detects_lost_writes(tmp_path: Path, operations: int, broken: str) -> None:
    kind, lying = (SQLiteStore, True) if broken == "a disk that lies" else (UnsyncedStore, False)
    losses = [run_until_power_loss(tmp_path, seed, Power(operations // 2, lying=lying), kind) for seed in range(4)]
    assert all(loss.known.has_tasks for loss in losses)
    assert any(fault.startswith("lost: the task") for loss in losses for fault in loss.faults())
