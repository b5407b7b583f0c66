"""Counters table: running counts by hour, for each owner and for all owners."""

from __future__ import annotations

from collections.abc import Iterable

from ...model.counts import ALL_OWNERS, NO_HOUR, RETAINED_HOURS, Counts
from .table import Table, Transaction


class Counters(Table[tuple[str, int, str], int]):
    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self._newest_hour = NO_HOUR

    def add(self, owner: str, added: Iterable[tuple[int, str, int]]) -> None:
        for hour, name, number in added:
            for counter_owner in (owner, ALL_OWNERS):
                key = counter_owner, hour, name
                self.write(key, (self.get(key) or 0) + number)
            if hour > self._newest_hour:
                self._newest_hour = hour
                self._delete_hours(hour - RETAINED_HOURS)

    def for_owner(self, owner: str, hours: frozenset[int]) -> Counts:
        return {
            (hour, name): number
            for (counter_owner, hour, name), number in self._rows.items()
            if counter_owner == owner and number and hour in hours
        }

    def _delete_hours(self, until: int) -> None:
        for key in [key for key in self._rows if _is_hour_until(key, until)]:
            self.write(key, None)


def _is_hour_until(key: tuple[str, int, str], until: int) -> bool:
    _, hour, _ = key
    return NO_HOUR < hour <= until
