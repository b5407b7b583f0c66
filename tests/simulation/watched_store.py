"""In-memory store that watches its lanes: after each call it compares the slots that were given with the rule of turns.

It sees entries and runs before and after each call alone, not how the store chose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar

from horae.model.change import ControlDecision, Facts, FireDecision, RunDecision, SettleDecision
from horae.model.entry import CLAIMABLE, MAX_REPARKS, Entry
from horae.model.lanes.rate import RateChange
from horae.model.lanes.route import is_route
from horae.model.outcome import Settlement
from horae.model.record import RecordWrite
from horae.ports.store import Claim
from horae.stores.memory import MemoryStore
from horae.stores.memory.entries import key_of
from horae.stores.memory.queue import Key

_T = TypeVar("_T")


class LaneView(NamedTuple):
    """Entries that wait, by lane; those that got a slot and have not started; and the runs in each lane."""

    parked: dict[str, dict[Key, Entry]]
    offered: tuple[Entry, ...]
    runs: dict[str, frozenset[str]]


class WatchedStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.lane_problems: list[str] = []
        self._last_owners: dict[str, str | None] = {}
        """Owner of the last turn, by lane; None: not known, because several slots were given at once."""

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        return await self._watch(super().claim_due(now, node, room, decide))

    async def claim_queued(
        self, now: datetime, node: str, room: int, decide: FireDecision, queues: Collection[str]
    ) -> Claim:
        return await self._watch(super().claim_queued(now, node, room, decide, queues))

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        return await self._watch(super().settle(batch, decide))

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        return await self._watch(super().release(claims, decide))

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        return await self._watch(super().recover(node, renewals, decide, limit))

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        return await self._watch(super().change(task_id, owner, decide))

    async def set_lane(
        self,
        name: str,
        limit: int | None,
        *,
        rate: RateChange = "keep",
        attached_records: Sequence[RecordWrite] = (),
    ) -> None:
        await self._watch(super().set_lane(name, limit, rate=rate, attached_records=attached_records))

    async def _watch(self, call: Awaitable[_T]) -> _T:
        before = self._view()
        result = await call
        after = self._view()
        for lane in {*before.parked, *before.runs, *after.runs}:
            self._check_newcomers(lane, before, after)
            self._check_turns(lane, before, after)
        return result

    def _view(self) -> LaneView:
        entries, slots = self._data.entries, self._data.runs.lane_slots
        parked = {
            lane: {key_of(entry): entry for entry in entries.parked(lane)}
            for lane in tuple(entries._parked)
            if not is_route(lane)
        }
        offered: tuple[Entry, ...] = ()
        if any(entries._offered.values()):
            offered = tuple(entry for entry in entries if entry.lane is not None and entry.state in CLAIMABLE)
        return LaneView(parked, offered, {lane: frozenset(slots.members_of(lane)) for lane in slots.sizes()})

    def _check_newcomers(self, lane: str, before: LaneView, after: LaneView) -> None:
        """A run that did not wait in the lane must not start while another entry goes on waiting in it."""
        started = [
            self._data.runs[run_id] for run_id in after.runs.get(lane, frozenset()) - before.runs.get(lane, set())
        ]
        waiting = before.parked.get(lane, {}).keys() & after.parked.get(lane, {}).keys()
        newcomers = []
        for run in started:
            entries = [entry for entry in before.offered if entry.task_id == run.task_id]
            if any(entry.lane == lane for entry in entries):
                continue
            newcomers.append(run)
            if waiting and not any(entry.reparks >= MAX_REPARKS for entry in entries):
                self.lane_problems.append(f"{run.id} of {run.owner} overtook {sorted(waiting)} in the lane {lane}")
        owners = {run.owner for run in newcomers}
        if owners:
            self._last_owners[lane] = owners.pop() if len(owners) == 1 else None

    def _check_turns(self, lane: str, before: LaneView, after: LaneView) -> None:
        """A slot goes to another owner than the last one, if an entry of another owner goes on waiting.

        Slots are given when all entries of the call are parked.
        """
        offered = {key_of(entry) for entry in before.offered if entry.lane == lane}
        unparked = [entry for entry in after.offered if entry.lane == lane and key_of(entry) not in offered]
        if not unparked:
            return
        waiting = {entry.owner for entry in after.parked.get(lane, {}).values()}
        turns = Counter(entry.owner for entry in unparked if entry.reparks < MAX_REPARKS)
        for owner, count in turns.items():
            if any(count > turns[other] + 1 for other in waiting - {owner}):
                self.lane_problems.append(f"{owner} got {count} slots of the lane {lane} at once, while others wait")
        if len(unparked) > 1:
            self._last_owners[lane] = None
            return
        (entry,) = unparked
        if entry.reparks < MAX_REPARKS and waiting - {entry.owner} and self._last_owners.get(lane) == entry.owner:
            self.lane_problems.append(f"two turns of {entry.owner} in a row in the lane {lane}, while others wait")
        self._last_owners[lane] = entry.owner
