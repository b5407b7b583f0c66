"""Setup steps for store tests: add tasks, claim, start runs, fill a lane, settle, read everything."""

from __future__ import annotations

from datetime import datetime

from ....model.change import Facts, FireDecision, SettleDecision
from ....model.entry import EntryState
from ....model.run import Run
from ....model.task import Task
from ....ports.full_store import FullStore
from ....ports.store import Claim, Claimed, RunFilter, TaskFilter
from ...decisions import start_everything, start_within_lanes, succeed
from ...factories import NODE, NOON, a_new_task, a_node, a_settlement, a_task, an_entry

_MOST_SLICES = 2_000


async def add_tasks(store: FullStore, *tasks: Task, due: datetime = NOON) -> None:
    """Add tasks with one entry each."""
    await store.add([a_new_task(task, entries=[an_entry(task, due=due)]) for task in tasks])


async def claim(
    store: FullStore,
    now: datetime = NOON,
    decide: FireDecision = start_everything,
    *,
    room: int = 1_000,
    node: str = NODE,
) -> Claim:
    return await store.claim_due(now, node, room, decide)


async def claim_all(
    store: FullStore, now: datetime = NOON, decide: FireDecision = start_everything, *, room: int = 1_000
) -> list[Claimed]:
    """Claim batch after batch until nothing is due."""
    claimed: list[Claimed] = []
    for _ in range(_MOST_SLICES):
        slice_ = await claim(store, now, decide, room=room)
        claimed.extend(slice_.runs)
        if not slice_.more:
            return claimed
    raise AssertionError(f"after {_MOST_SLICES:,} batches there is still more to claim")


async def start_run(store: FullStore, task: Task | None = None, decide: FireDecision = start_everything) -> Run:
    """Add one task and claim its only entry on the usual node; return the live run."""
    await store.join(a_node())
    await add_tasks(store, task or a_task())
    return (await claim(store, decide=decide)).runs[0].run


async def fill_lane(store: FullStore, lane: str, *tasks: Task) -> list[Run]:
    """Claim these tasks within the limit of their lane; return the runs that started."""
    await store.join(a_node())
    await add_tasks(store, *(task._replace(lane=lane) for task in tasks))
    return [each.run for each in await claim_all(store, decide=start_within_lanes())]


async def settle(store: FullStore, *runs: Run, decide: SettleDecision = succeed) -> frozenset[str]:
    return await store.settle([a_settlement(run) for run in runs], decide)


async def get_facts(store: FullStore, task: Task) -> Facts:
    """Read a task that must exist."""
    facts = await store.facts(task.id, None)
    if facts is None:
        raise LookupError(task.id)
    return facts


async def get_run(store: FullStore, run: Run) -> Run:
    """Read a run that must exist."""
    found = await store.run(run.id, None)
    if found is None:
        raise LookupError(run.id)
    return found


async def read_all(store: FullStore) -> tuple[object, ...]:
    """Read all tasks, runs and events: equal before and after a call that writes nothing."""
    tasks = (await store.tasks(TaskFilter(), limit=1_000)).items
    facts = [_in_order(await get_facts(store, each.task)) for each in tasks]
    runs = (await store.runs(RunFilter(), limit=1_000)).items
    return facts, runs, await store.events(0), await store.next_due()


def _in_order(facts: Facts) -> Facts:
    return facts._replace(
        # Timed or ready: the state of a claimable entry is up to the store.
        entries=tuple(sorted(entry._replace(state=_shown(entry.state)) for entry in facts.entries)),
        live=tuple(sorted(facts.live, key=lambda run: run.id)),
    )


def _shown(state: EntryState) -> EntryState:
    return EntryState.TIMED if state is EntryState.READY else state
