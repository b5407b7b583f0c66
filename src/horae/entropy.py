"""Chance from the operating system, fetched for many at once: each visit there gives up the interpreter to other threads."""

from __future__ import annotations

import os
from threading import Lock
from typing import Final

_STOCK: Final = 4_096
"""Bytes fetched at a time."""


class Entropy:
    """As good as what the system gives, since it is that; nothing is given twice, not even to two threads or after a fork."""

    def __init__(self) -> None:
        self._stock = b""
        self._at = 0
        self._taking = Lock()
        os.register_at_fork(after_in_child=self._empty)

    def __call__(self, size: int) -> bytes:
        with self._taking:
            if self._at + size > len(self._stock):
                self._stock, self._at = os.urandom(max(_STOCK, size)), 0
            begin, self._at = self._at, self._at + size
            return self._stock[begin : self._at]

    def _empty(self) -> None:
        self._stock, self._at, self._taking = b"", 0, Lock()


entropy: Final = Entropy()
