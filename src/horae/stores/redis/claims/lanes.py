"""Lanes in a transaction: loads their documents, keeps them current between decisions, and writes those that changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ....lifecycle.lanes.rate import keep_last_starts, next_start, record_starts, starts_left
from ....model.accounts.system_owner import account_of
from ....model.entry import CLAIMABLE, Entry, EntryState
from ....model.ids import to_microseconds
from ....model.lanes.idle import IDLE_RUNS_KIND
from ....model.lanes.lane import DEFAULT_LIMIT, MAX_LANE_LIMIT, owner_lane
from ....model.lanes.rate import Rate, StartsAt
from ....model.lanes.route import is_route
from ....model.task import Task
from ...loaded_facts import LaneCounts, LaneRate
from ..layout.documents import decode_record_document
from ..layout.lane_documents import LaneDocument, OwnerLimits, decode_lane, encode_lane
from ..transactions.transaction import Transaction


class Lanes(LaneCounts):
    """Lanes and limits of owners. A lane is loaded before a decision that may use it, and before a change of its entries."""

    def __init__(self, transaction: Transaction, limits: OwnerLimits, now: datetime | None = None) -> None:
        super().__init__()
        self._transaction = transaction
        self._owner_lanes = limits.lanes
        self._block_reasons = dict(limits.blocked)
        self.now = now
        self.is_unrestricted = limits.is_empty
        self._before: dict[str, LaneDocument] = {}
        self._set_limits: dict[str, int] = {}
        self._starts: dict[str, tuple[StartsAt, ...]] = {}
        self._wakeups: dict[str, datetime | None] = {}
        self._parked: dict[str, int] = {}
        self._touched: set[str] = set()
        """Lanes whose sets of parked entries change, though their numbers may stay the same."""

    async def load(self, tasks: Iterable[Task], lanes: Iterable[str] = ()) -> None:
        """Load the lanes of these tasks, those of their owners with a limit, and the given ones."""
        needed = set(lanes)
        for task in tasks:
            if task.lane is not None:
                needed.update(task.lanes)
            if self._owner_lanes and (lane := owner_lane(task.owner)) in self._owner_lanes:
                self._lane_of_owner[account_of(task.owner)] = lane
                needed.add(lane)
        missing = sorted(lane for lane in needed if lane not in self._before)
        if missing:
            self.is_unrestricted = False
            await self._read(missing)

    async def _read(self, names: list[str]) -> None:
        keys = self._transaction.keys
        texts = await self._transaction.read(
            [*map(keys.lane, names), *(keys.record(IDLE_RUNS_KIND, name) for name in names)]
        )
        for name, text, idle in zip(names, texts[: len(names)], texts[len(names) :], strict=True):
            self._take(name, decode_lane(text))
            if idle is not None:
                self.add_idle_record(decode_record_document(idle))

    def _take(self, name: str, lane: LaneDocument) -> None:
        self._before[name] = lane
        self._limits[name] = DEFAULT_LIMIT if lane.limit is None else lane.limit
        if lane.limit is not None:
            self._set_limits[name] = lane.limit
        self._taken[name], self._offered[name], self._parked[name] = lane.taken, lane.offered, lane.parked
        if lane.parked:
            self._with_waiting.add(name)
        if lane.last_owner:
            self._last_owners[name] = lane.last_owner
        if lane.rate is not None:
            self._starts[name] = lane.starts
            wake_at = None if lane.wake_at is None else to_microseconds(lane.wake_at)
            self.rates[name] = LaneRate(lane.rate, 0, None, wake_at)
            self._wakeups[name] = lane.wake_at
            self._count_starts_left(name)

    def _count_starts_left(self, name: str) -> None:
        if self.now is not None:
            found = self.rates[name]
            found.left = starts_left(found.rate, self._starts[name], self.now)

    # --- entries and starts --------------------------------------------------------------------------------------------

    def replace_entry(self, before: Entry | None, after: Entry | None) -> None:
        """Count an entry that is put, replaced or dropped."""
        for entry, number in ((before, -1), (after, 1)):
            if entry is None or entry.lane is None or is_route(entry.lane):
                continue
            if entry.state in CLAIMABLE:
                self._offered[entry.lane] += number
            elif entry.state is EntryState.PARKED:
                self._park(entry.lane, number)

    def _park(self, lane: str, number: int) -> None:
        self._touched.add(lane)
        self._parked[lane] += number
        if self._parked[lane]:
            self._with_waiting.add(lane)
        else:
            self._with_waiting.discard(lane)

    def record_start(self, lane: str) -> bool:
        """Count a start of this claim in a lane; return whether the lane has a rate."""
        found = self.rates.get(lane)
        if found is None or self.now is None:
            return False
        self._starts[lane] = record_starts(found.rate, self._starts[lane], self.now, 1)
        self._count_starts_left(lane)
        return True

    def startable(self, lane: str) -> int:
        """Return how many entries the lane has slots and starts for."""
        free = self.free_slots(lane)
        found = self.rates.get(lane)
        if found is None:
            return free
        return max(0, min(free, starts_left(found.rate, self._starts[lane], self.now) - self.offered(lane)))

    def set_wakeup(self, lane: str) -> None:
        """Set the instant at which the next entry of a lane with a rate is to be unparked; call it after unparking."""
        found = self.rates.get(lane)
        if found is not None:
            is_waiting = self.has_waiting(lane) and self.free_slots(lane) > 0
            self._wakeups[lane] = next_start(found.rate, self._starts[lane], self.offered(lane)) if is_waiting else None

    # --- administration ------------------------------------------------------------------------------------------------

    def set_limit(self, lane: str, limit: int | None) -> None:
        """Set the limit of a loaded lane; None: it keeps its own, or gets one that bounds nothing."""
        chosen = self._set_limits.get(lane, MAX_LANE_LIMIT) if limit is None else limit
        self._limits[lane] = self._set_limits[lane] = chosen

    def set_rate(self, lane: str, rate: Rate | None) -> None:
        """Set or remove the rate of a loaded lane; the starts that were kept under the former one stay."""
        kept = self._starts.pop(lane, ())
        self.rates.pop(lane, None)
        self._wakeups[lane] = None
        if rate is not None:
            self.rates[lane] = LaneRate(rate, 0, None, None)
            self._starts[lane] = keep_last_starts(rate, kept)
            self._count_starts_left(lane)

    # --- end of the transaction ----------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write the documents that changed."""
        keys = self._transaction.keys
        for name, before in self._before.items():
            after = self._document(name)
            if after == before and name not in self._touched:
                continue
            self._transaction.put(keys.lane(name), None if after == LaneDocument() else encode_lane(after))
            if after == LaneDocument():
                self._transaction.call("ZREM", keys.lanes, name)
            elif before == LaneDocument():
                self._transaction.call("ZADD", keys.lanes, 0, name)
            if after.wake_at is not None:
                self._transaction.call("ZADD", keys.wakeups, to_microseconds(after.wake_at), name)
            elif before.wake_at is not None:
                self._transaction.call("ZREM", keys.wakeups, name)

    def _document(self, name: str) -> LaneDocument:
        found = self.rates.get(name)
        return LaneDocument(
            self._set_limits.get(name),
            None if found is None else found.rate,
            self._starts.get(name, ()),
            self._wakeups.get(name),
            self.last_owner(name),
            self._taken[name],
            self._offered[name],
            self._parked[name],
        )
