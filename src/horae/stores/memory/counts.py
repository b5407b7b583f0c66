"""Counters table: running counts by hour, for each owner and for all owners."""

from __future__ import annotations

from collections.abc import Iterable

from ...model.counts import (
    NO_HOUR,
    OUTCOME_PREFIX,
    OUTCOME_RETAINED_HOURS,
    RETAINED_HOURS,
    Counts,
    total_owner,
)
from .table import Table, Transaction


class Counters(Table[tuple[str, int, str], int]):
    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self._newest_hour = NO_HOUR

    def add(self, owner: str, added: Iterable[tuple[int, str, int]]) -> None:
        for hour, name, number in added:
            for counter_owner in (owner, total_owner(owner)):
                key = counter_owner, hour, name
                self.write(key, (self.get(key) or 0) + number)
            if hour > self._newest_hour:
                self._newest_hour = hour
                self._delete_old(hour)

    def for_owner(self, owner: str, hours: frozenset[int]) -> Counts:
        return {
            (hour, name): number
            for (counter_owner, hour, name), number in self._rows.items()
            if counter_owner == owner and number and hour in hours
        }

    def _delete_old(self, newest: int) -> None:
        for key in [key for key in self._rows if _is_old(key, newest)]:
            self.write(key, None)


def _is_old(key: tuple[str, int, str], newest: int) -> bool:
    """Whether a counter is beyond its retention; state counters are current numbers and have none."""
    _, hour, name = key
    retained = OUTCOME_RETAINED_HOURS if name.startswith(OUTCOME_PREFIX) else RETAINED_HOURS
    return NO_HOUR < hour <= newest - retained
