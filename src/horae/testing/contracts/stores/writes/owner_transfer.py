"""Contract of the move of one owner: out of the store, into it, and back, beside owners that stay."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from collections.abc import Awaitable

from .....errors import Refusal
from .....model.counts import NO_HOUR, STATE_PREFIX
from .....model.entry import EntryState
from .....ports.full_store import FullStore
from .....ports.store import TaskFilter
from .....stores.memory import MemoryStore
from ..contract import Contract
from .owner_contents import KEYS, OTHER, OWNER, end_runs, fill_source, fill_target, mover, read_owner, start_run


async def _states(store: FullStore, owner: str | None = None) -> dict[str, int]:
    counts = await store.counts(owner, (NO_HOUR,))
    return {name.removeprefix(STATE_PREFIX): number for (_, name), number in counts.items() if number}


async def _refusal(work: Awaitable[object]) -> str:
    """Return the code with which the work was refused; empty if it was not."""
    try:
        await work
    except Refusal as refusal:
        return refusal.code
    return ""


class OwnerTransferContract(Contract):
    async def test_an_owner_leaves_and_the_others_stay(self, store: FullStore) -> None:
        south = MemoryStore()
        await fill_source(store, KEYS[0])
        await fill_target(south)
        before, others = await read_owner(store, KEYS[0]), await read_owner(store, KEYS[0], OTHER)
        await mover(store, south).move()
        assert await read_owner(south, KEYS[1]) == before
        assert await read_owner(store, KEYS[0], OTHER) == others
        assert (await store.tasks(TaskFilter(OWNER))).items == ()
        assert await _states(store) == {"active": 1}
        assert await store.check() == await south.check() == ()

    async def test_an_owner_arrives_and_comes_back(self, store: FullStore) -> None:
        north = MemoryStore()
        await fill_source(north, KEYS[0])
        await fill_target(store)
        before = await read_owner(north, KEYS[0])
        await mover(north, store).move()
        assert await read_owner(store, KEYS[1]) == before
        assert await _states(store) == {"active": 3, "paused": 1}
        numbers = await store.owner_event_counts([OWNER], await store.last_event())
        assert await store.check() == await north.check() == ()
        await mover(store, north, (KEYS[1], KEYS[0]), names=("south", "north")).move()
        assert await read_owner(north, KEYS[0]) == before
        later = await north.owner_event_counts([OWNER], await north.last_event())
        assert later[OWNER] >= numbers[OWNER]
        assert (await store.tasks(TaskFilter(OWNER))).items == ()
        assert await store.check() == await north.check() == ()

    async def test_a_held_owner_starts_nothing_while_a_run_ends_and_can_stay(self, store: FullStore) -> None:
        south = MemoryStore()
        await fill_source(store, KEYS[0])
        first = (await store.tasks(TaskFilter(OWNER))).items[0]
        before = await read_owner(store, KEYS[0])
        await start_run(store, first)
        assert await _refusal(mover(store, south).move()) == "owner_runs_live"
        held = (await store.tasks(TaskFilter(OWNER))).items
        assert {entry.state for facts in held for entry in facts.entries} == {EntryState.ASLEEP}
        await end_runs(store)
        await mover(store, south).abort()
        after = await read_owner(store, KEYS[0])
        assert after["tasks"][0].entries == before["tasks"][0].entries
        assert after["records"] == before["records"]
        assert await store.check() == await south.check() == ()
