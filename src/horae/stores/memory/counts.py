"""The running counts: for each owner, and for everybody."""

from __future__ import annotations

from collections.abc import Iterable

from ...model.counts import EVERYBODY, KEPT_HOURS, NO_HOUR, Counts
from .table import Table, Transaction


class Tallies(Table[tuple[str, int, str], int]):
    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self._newest = NO_HOUR

    def add(self, owner: str, added: Iterable[tuple[int, str, int]]) -> None:
        for hour, name, number in added:
            for who in (owner, EVERYBODY):
                key = who, hour, name
                self.write(key, (self.get(key) or 0) + number)
            if hour > self._newest:
                self._newest = hour
                self._forget(hour - KEPT_HOURS)

    def of(self, owner: str, hours: frozenset[int]) -> Counts:
        return {
            (hour, name): number
            for (who, hour, name), number in self._rows.items()
            if who == owner and number and hour in hours
        }

    def _forget(self, until: int) -> None:
        for key in [key for key in self._rows if NO_HOUR < key[1] <= until]:
            self.write(key, None)
