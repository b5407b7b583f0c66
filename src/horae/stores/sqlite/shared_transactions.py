"""Tasks that are added within a transaction of somebody else, and the news that it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import apsw

from ...errors import StoreError, StoreUnavailable
from ...model.change import Change
from ..shared_transaction_refusals import refuse
from ..sqlalchemy_connection import driver_connection
from ..task_cache import Familiar
from .connection import Link
from .errors import translated
from .queries import add_all
from .writer import Writer

_LOOK_SECONDS: Final = 0.25
"""So long one look for the end of a transaction may keep the writer, which could write nothing meanwhile."""


class Watch:
    """Waits until others have ended the transactions in which tasks were added.

    Only one connection at a time may write to the file, and whoever has added something is the one until its transaction
    is over. So when the writer is let in, it is over: committed or not, there is nothing to ask the connection for.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._waiting: list[Callable[[], None]] = []
        self._going: asyncio.Task[None] | None = None

    def until_over(self, over: Callable[[], None]) -> None:
        self._waiting.append(over)
        if self._going is None or self._going.done():
            self._going = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        while self._waiting:
            try:
                over = await self._writer.do(self._take, glance=self._let_in, urgent=False)
            except StoreError:
                # It was closed, or cannot be asked: whoever looks at the agenda by themselves finds what there is.
                return
            for each in over:
                each()

    def _let_in(self, link: Link) -> list[Callable[[], None]]:
        """On the writer's thread, without a transaction; nothing yet, if somebody else is still writing."""
        with link.impatient(_LOOK_SECONDS):
            try:
                link.query("BEGIN IMMEDIATE")
            except apsw.BusyError:
                return []
        over = self._take(link)
        link.query("COMMIT")
        return over

    def _take(self, _link: Link) -> list[Callable[[], None]]:
        """Inside a transaction of our own: nobody is adding anything just now."""
        over, self._waiting = self._waiting, []
        return over


class SQLiteUsing:
    _place: str
    """Where the file is, also after the working directory has changed."""
    _watch: Watch
    _opened: bool
    _closed: bool

    @property
    def shares_transactions(self) -> bool:
        return True

    async def add_using(self, connection: object, changes: Sequence[Change], over: Callable[[], None]) -> None:
        """On the thread that asks, as all else that is done with the connection."""
        if self._closed or not self._opened:
            raise StoreUnavailable("The store is closed.")
        from .caller_connection import begin_if_needed, borrowed  # noqa: PLC0415 - it loads sqlite3 too, which few need

        lent = await driver_connection(connection)
        try:
            await begin_if_needed(lent)
            with borrowed(lent.connection, self._place, lent.name) as link:
                if not changes:
                    return
                with link.all_or_nothing():
                    add_all(link, Familiar(), changes)
        except apsw.BusyError as error:
            raise refuse("busy_transaction") from error
        except apsw.Error as error:
            raise translated(error) from error
        self._watch.until_over(over)
