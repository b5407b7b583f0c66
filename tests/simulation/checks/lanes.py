"""Lane limits and blocked owners as they were at each point of the event log."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from horae.model.lanes.lane import DEFAULT_LIMIT
from tests.simulation.drafts import LANES
from tests.simulation.history import Action


class LaneLimits:
    def __init__(self, actions: Iterable[Action]) -> None:
        self._limits: dict[str, list[tuple[int, Any]]] = defaultdict(list)
        self._bars: dict[str, list[tuple[int, Any]]] = defaultdict(list)
        for lane, limit in LANES.items():
            self._limits[lane].append((0, limit))
        for action in actions:
            if action.place is None:
                continue
            if action.kind == "set_lane":
                self._limits[action.subject].append((action.place[1], action.detail))
            elif action.kind == "bar":
                self._bars[action.subject].append((action.place[1], action.detail))

    def at(self, lane: str, number: int) -> int:
        limit = _before(self._limits[lane], number)
        return DEFAULT_LIMIT if limit is None else int(limit)

    def known(self, lane: str, number: int) -> bool:
        return _before(self._limits[lane], number) is not None

    def block_reason(self, owner: str, number: int) -> bool:
        return _before(self._bars[owner], number) is not None

    def was_blocked(self, owner: str) -> bool:
        return any(reason is not None for _, reason in self._bars[owner])


def _before(said: list[tuple[int, Any]], number: int) -> Any:
    """`number` is that of an event that comes after whatever was said at a lower one."""
    place = bisect_left(said, number, key=lambda each: each[0])
    return None if place == 0 else said[place - 1][1]
