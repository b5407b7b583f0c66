"""Sorted list of keys with range scans in both directions; appending the largest key is O(1)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

RunRank: TypeAlias = tuple[datetime, int, str]
"""Planned instant, attempt, id."""

_K = TypeVar("_K", str, RunRank, tuple[int, str], tuple[datetime, str, str])


class SortedKeys(Generic[_K]):
    def __init__(self) -> None:
        self._keys: list[_K] = []

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: _K) -> None:
        if not self._keys or key > self._keys[-1]:
            self._keys.append(key)
        else:
            insort(self._keys, key)

    def remove(self, key: _K) -> None:
        index = bisect_left(self._keys, key)
        del self._keys[index]

    def ascending(self, after: _K | None = None) -> Iterator[_K]:
        start = 0 if after is None else bisect_right(self._keys, after)
        return (self._keys[index] for index in range(start, len(self._keys)))

    def ascending_from(self, first: _K) -> Iterator[_K]:
        """Iterate from this key on, itself included."""
        return (self._keys[index] for index in range(bisect_left(self._keys, first), len(self._keys)))

    def descending(self, before: _K | None = None) -> Iterator[_K]:
        end = len(self._keys) if before is None else bisect_left(self._keys, before)
        return (self._keys[index] for index in range(end - 1, -1, -1))
