"""Numbers for values in order of discovery: states compare by number instead of by value."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

_T = TypeVar("_T", bound=Hashable)


class ValueNumbers(Generic[_T]):
    def __init__(self) -> None:
        self._values: list[_T] = []
        self._numbers: dict[_T, int] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, number: int) -> _T:
        return self._values[number]

    def __contains__(self, value: _T) -> bool:
        return value in self._numbers

    def number(self, value: _T) -> int:
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = len(self._values)
            self._values.append(value)
        return known
