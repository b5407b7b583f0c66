"""Reads go beside the writer, on connections and threads of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

import apsw

from ...errors import StoreUnavailable
from .failure import translated
from .link import Link

_T = TypeVar("_T")

_THREADS: Final = 2


class Readers:
    def __init__(self, connect: Callable[[], Link]) -> None:
        self._connect = connect
        self._idle: SimpleQueue[Link] = SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None

    def start(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="horae-sqlite-reader")

    async def do(self, work: Callable[[Link], _T]) -> _T:
        """All that it reads is of one instant, whatever is written meanwhile."""
        if self._threads is None:
            raise StoreUnavailable("The store is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, work)

    def _read(self, work: Callable[[Link], _T]) -> _T:
        try:
            link = self._idle.get_nowait()
        except Empty:
            link = self._connected()
        try:
            link.query("BEGIN")
            try:
                return work(link)
            finally:
                if link.in_transaction:
                    link.query("COMMIT")
        except apsw.Error as error:
            raise translated(error) from error
        finally:
            self._idle.put(link)

    def _connected(self) -> Link:
        try:
            return self._connect()
        except apsw.Error as error:
            raise translated(error) from error

    async def stop(self) -> None:
        threads, self._threads = self._threads, None
        if threads is None:
            return
        await asyncio.get_running_loop().run_in_executor(None, threads.shutdown)
        while not self._idle.empty():
            self._idle.get().close()
