"""Tables with transactions: an undo log reverts the writes of a failed transaction, newest first."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from threading import RLock
from types import TracebackType
from typing import Generic, TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Transaction:
    """Context manager of one transaction at a time, across threads; an exception rolls all writes back."""

    def __init__(self) -> None:
        self.lock = RLock()
        self._undo_steps: list[Callable[[], None]] = []

    def on_rollback(self, undo: Callable[[], None]) -> None:
        self._undo_steps.append(undo)

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            while self._undo_steps and kind is not None:
                self._undo_steps.pop()()
            self._undo_steps.clear()
        finally:
            self.lock.release()


class Table(Generic[_K, _V]):
    """Rows by key. Subclasses keep their indexes in `update_indexes`, which runs for every write and every undo."""

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
        """Set the row of a key, or remove it (None)."""
        before = self._rows.get(key)
        self._transaction.on_rollback(lambda: self._set_row(key, before))
        self._set_row(key, row)

    def _set_row(self, key: _K, row: _V | None) -> None:
        before = self._rows.get(key)
        if row is not None:
            self._rows[key] = row
        elif before is not None:
            del self._rows[key]
        self.update_indexes(before, row)

    def update_indexes(self, before: _V | None, after: _V | None) -> None:
        """Update secondary indexes after the row `before` was replaced by `after`; None is no row."""
