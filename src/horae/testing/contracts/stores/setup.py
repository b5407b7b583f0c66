"""How tests of stores begin: tasks that are kept, runs that go, a backlog that is worked off."""

from __future__ import annotations

from datetime import datetime

from ....model.change import Facts, FireDecision, SettleDecision
from ....model.entry import EntryState
from ....model.run import Run
from ....model.task import Task
from ....ports.store import Claim, Claimed, RunFilter, TaskFilter
from ...decisions import seating, start_everything, succeed
from ...factories import NODE, NOON, a_new_task, a_node, a_settlement, a_task, an_entry
from .contract import WholeStore

_MOST_SLICES = 2_000


async def keep(store: WholeStore, *tasks: Task, due: datetime = NOON) -> None:
    """Tasks with one entry each."""
    await store.add([a_new_task(task, entries=[an_entry(task, due=due)]) for task in tasks])


async def claim(
    store: WholeStore,
    now: datetime = NOON,
    decide: FireDecision = start_everything,
    *,
    room: int = 1_000,
    node: str = NODE,
) -> Claim:
    return await store.claim_due(now, node, room, decide)


async def claim_all(
    store: WholeStore, now: datetime = NOON, decide: FireDecision = start_everything, *, room: int = 1_000
) -> list[Claimed]:
    """Slice after slice, until nothing is due."""
    claimed: list[Claimed] = []
    for _ in range(_MOST_SLICES):
        slice_ = await claim(store, now, decide, room=room)
        claimed.extend(slice_.runs)
        if not slice_.more:
            return claimed
    raise AssertionError(f"after {_MOST_SLICES:,} slices there is still more to claim")


async def a_running(store: WholeStore, task: Task | None = None, decide: FireDecision = start_everything) -> Run:
    """One task whose only occurrence is going on, on the usual node."""
    await store.join(a_node())
    await keep(store, task or a_task())
    return (await claim(store, decide=decide)).runs[0].run


async def fill(store: WholeStore, lane: str, *tasks: Task) -> list[Run]:
    """Claim these with respect for their lane: the runs that found a seat."""
    await store.join(a_node())
    await keep(store, *(task._replace(lane=lane) for task in tasks))
    return [each.run for each in await claim_all(store, decide=seating())]


async def settle(store: WholeStore, *runs: Run, decide: SettleDecision = succeed) -> frozenset[str]:
    return await store.settle([a_settlement(run) for run in runs], decide)


async def facts_of(store: WholeStore, task: Task) -> Facts:
    """A task that must be there."""
    facts = await store.facts(task.id, None)
    if facts is None:
        raise LookupError(task.id)
    return facts


async def run_of(store: WholeStore, run: Run) -> Run:
    """A run that must be there, as it is now."""
    found = await store.run(run.id, None)
    if found is None:
        raise LookupError(run.id)
    return found


async def everything(store: WholeStore) -> tuple[object, ...]:
    """All that can be read of tasks, runs and events: what must be equal when nothing was written."""
    tasks = (await store.tasks(TaskFilter(), limit=1_000)).items
    facts = [_in_order(await facts_of(store, each.task)) for each in tasks]
    runs = (await store.runs(RunFilter(), limit=1_000)).items
    return facts, runs, await store.events(0), await store.next_due()


def _in_order(facts: Facts) -> Facts:
    return facts._replace(
        # Where a claimable entry stands is the store's own business.
        entries=tuple(sorted(entry._replace(state=_shown(entry.state)) for entry in facts.entries)),
        live=tuple(sorted(facts.live, key=lambda run: run.id)),
    )


def _shown(stand: EntryState) -> EntryState:
    return EntryState.TIMED if stand is EntryState.READY else stand
