"""Rows that a transaction can take back: whatever was written is undone, newest first, when anything goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from threading import RLock
from types import TracebackType
from typing import Generic, TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Transaction:
    """One at a time, also among threads; leaving it by an exception makes everything as it was."""

    def __init__(self) -> None:
        self.lock = RLock()
        self._steps_back: list[Callable[[], None]] = []

    def can_be_undone_by(self, step_back: Callable[[], None]) -> None:
        self._steps_back.append(step_back)

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            while self._steps_back and kind is not None:
                self._steps_back.pop()()
            self._steps_back.clear()
        finally:
            self.lock.release()


class Table(Generic[_K, _V]):
    """Rows by key. All that follows from a row is kept in step with it by `indexed`, on the way there and back."""

    def __init__(self, transaction: Transaction) -> None:
        self._rows: dict[_K, _V] = {}
        self._transaction = transaction

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[_V]:
        return iter(self._rows.values())

    def __contains__(self, key: _K) -> bool:
        return key in self._rows

    def __getitem__(self, key: _K) -> _V:
        return self._rows[key]

    def all_keys(self) -> tuple[_K, ...]:
        return tuple(self._rows)

    def get(self, key: _K) -> _V | None:
        return self._rows.get(key)

    def write(self, key: _K, row: _V | None) -> None:
        """Put the row there, or (None) leave no row."""
        before = self._rows.get(key)
        self._transaction.can_be_undone_by(lambda: self._place(key, before))
        self._place(key, row)

    def _place(self, key: _K, row: _V | None) -> None:
        before = self._rows.get(key)
        if row is not None:
            self._rows[key] = row
        elif before is not None:
            del self._rows[key]
        self.indexed(before, row)

    def indexed(self, before: _V | None, after: _V | None) -> None:
        """What else has to know that one row took the place of another."""
