"""Order in which the entries that wait in a lane get its slots: owners in turn, within an owner by priority, then due."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from ...model.entry import MAX_REPARKS
from ...model.lanes.lane import LaneWaiter


def turn_order(waiters: Sequence[LaneWaiter], last_owner: str) -> tuple[LaneWaiter, ...]:
    """Return the entries in the order in which they get slots, if no other one is added.

    `waiters` are in order of priority, then due; `last_owner` got the last slot. Entries that were parked again too often
    come first.
    """
    first = [each for each in waiters if each.reparks >= MAX_REPARKS]
    queues: dict[str, list[LaneWaiter]] = {}
    for each in waiters:
        if each.reparks < MAX_REPARKS:
            queues.setdefault(each.owner, []).append(each)
    owners = sorted(queues, key=lambda owner: (owner <= last_owner, owner))
    turns = zip_longest(*(queues[owner] for owner in owners))
    return (*first, *(each for turn in turns for each in turn if each is not None))
