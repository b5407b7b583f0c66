"""Reads go beside the writer, on connections and threads of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

import apsw

from ...errors import StoreUnavailable
from .connection import Bindings, Link, Row
from .errors import translated

_T = TypeVar("_T")

_THREADS: Final = 2


class Readers:
    """Each call sees one instant, whatever is written meanwhile."""

    def __init__(self, connect: Callable[[], Link]) -> None:
        self._connect = connect
        self._idle: SimpleQueue[Link] = SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None
        self._long: ThreadPoolExecutor | None = None
        self.statements = 0

    def start(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="horae-sqlite-reader")
        self._long = ThreadPoolExecutor(1, thread_name_prefix="horae-sqlite-long-reader")

    async def do(self, work: Callable[[Link], _T]) -> _T:
        return await self._on(self._threads, work)

    async def ask(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        """One statement, which sees one instant by itself."""
        return await self._on(self._threads, lambda link: link.query(statement, bindings), alone=True)

    async def at_once(self, work: Callable[[Link], _T], *, alone: bool = False) -> _T:
        """For what follows an index to a few rows: done here and now, since to hand it to a thread costs more than it does.

        Readers wait for nobody, but when a file is just being opened or recovered: then a thread does the waiting.
        """
        if self._threads is None:
            raise StoreUnavailable("The store is closed.")
        try:
            return self._read(work, alone, patience=0)
        except StoreUnavailable:
            return await self._on(self._threads, work, alone=alone)

    async def do_at_length(self, work: Callable[[Link], _T]) -> _T:
        """For what takes seconds or minutes: others need not wait for it."""
        return await self._on(self._long, work)

    async def work_out(self, work: Callable[[], _T]) -> _T:
        """Something that needs no file, but time."""
        if self._threads is None:
            raise StoreUnavailable("The store is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _on(self, threads: ThreadPoolExecutor | None, work: Callable[[Link], _T], *, alone: bool = False) -> _T:
        if threads is None:
            raise StoreUnavailable("The store is closed.")
        return await asyncio.get_running_loop().run_in_executor(threads, self._read, work, alone)

    def _read(
        self,
        work: Callable[[Link], _T],
        alone: bool,  # noqa: FBT001 - an executor takes no names
        patience: float | None = None,
    ) -> _T:
        try:
            link = self._a_link()
            try:
                with nullcontext() if patience is None else link.impatient(patience):
                    return work(link) if alone else _at_one_instant(link, work)
            finally:
                self.statements += link.take_count()
                # One that could not even end its transaction is of no use to anybody.
                (link.close if link.in_transaction else partial(self._idle.put, link))()
        except apsw.Error as error:
            raise translated(error) from error

    def _a_link(self) -> Link:
        try:
            return self._idle.get_nowait()
        except Empty:
            return self._connect()

    async def stop(self) -> None:
        ending, self._threads, self._long = (self._threads, self._long), None, None
        for threads in ending:
            if threads is not None:
                await asyncio.get_running_loop().run_in_executor(None, threads.shutdown)
        while not self._idle.empty():
            self._idle.get().close()


def _at_one_instant(link: Link, work: Callable[[Link], _T]) -> _T:
    link.query("BEGIN")
    try:
        return work(link)
    finally:
        with suppress(apsw.Error):
            link.query("COMMIT")
