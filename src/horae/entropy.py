"""Buffered random bytes from `os.urandom`: one system call serves many requests, since each call releases the GIL."""

from __future__ import annotations

import os
from threading import Lock
from typing import Final

_BUFFER_BYTES: Final = 4_096
"""Bytes per system call."""


class Entropy:
    """Thread-safe buffer of `os.urandom` bytes. No byte is handed out twice, neither to two threads nor after a fork."""

    def __init__(self) -> None:
        self._buffer = b""
        self._offset = 0
        self._lock = Lock()
        os.register_at_fork(after_in_child=self._reset)

    def __call__(self, size: int) -> bytes:
        with self._lock:
            if self._offset + size > len(self._buffer):
                self._buffer, self._offset = os.urandom(max(_BUFFER_BYTES, size)), 0
            start, self._offset = self._offset, self._offset + size
            return self._buffer[start : self._offset]

    def _reset(self) -> None:
        # A new lock: one that another thread held during the fork would never be released.
        self._buffer, self._offset, self._lock = b"", 0, Lock()


entropy: Final = Entropy()
