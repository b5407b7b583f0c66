"""Queue of a lane: chooses the parked entries that get its free slots, owners in turn, and makes them claimable."""

from __future__ import annotations

from typing import NamedTuple

from ...loaded_facts import LaneCounts
from ..connection import Statements
from ..row_batches import flatten_rows


class _Waiting(NamedTuple):
    """A parked entry."""

    task: int
    slot: str
    owner: str


async def unpark_entries(connection: Statements, lane_state: LaneCounts, lane: str, count: int) -> None:
    """Unpark up to so many entries. The lane is locked, and with it all its parked entries."""
    chosen = await _choose_entries(connection, lane, count, lane_state.last_owner(lane))
    if not chosen:
        return
    await connection.write_rows("unpark", 2, flatten_rows((entry.task, entry.slot) for entry in chosen))
    lane_state.count_unparked(lane, len(chosen))
    lane_state.take_turn(lane, chosen[-1].owner)


async def _choose_entries(connection: Statements, lane: str, count: int, last_owner: str) -> list[_Waiting]:
    """Return first the entries that were parked again too often, then those of the owners in turn after the last one,
    within an owner by priority, then due."""
    reparked = list(map(_Waiting._make, await connection.query("reparked", lane, count)))
    if len(reparked) == count:
        return reparked
    owners = [owner for (owner,) in await connection.query("waiting_owners", lane, last_owner, count)]
    if len(owners) < count and last_owner:
        first = await connection.query("waiting_owners", lane, "", count)
        owners += [owner for (owner,) in first if owner not in owners]
    if not owners:
        return reparked
    owners = owners[:count]
    share = -(-count // len(owners)) + len(reparked)
    waiting = list(map(_Waiting._make, await connection.query("waiting_of_owners", owners, lane, share)))
    if len(waiting) < count and len(owners) > 1:
        # Owners with less than their share leave slots to those with more.
        rows = await connection.query("waiting_of_owners", owners, lane, count + len(reparked))
        waiting = list(map(_Waiting._make, rows))
    queues: dict[str, list[_Waiting]] = {owner: [] for owner in owners}
    for entry in waiting:
        if entry not in reparked:
            queues[entry.owner].append(entry)
    longest = max(map(len, queues.values()))
    in_turn = [queue[turn] for turn in range(longest) for queue in queues.values() if turn < len(queue)]
    return [*reparked, *in_turn][:count]
