"""Runs work in optimistic transactions, again whenever another client was faster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from ....errors import StoreUnavailable
from ..layout.keys import Keys
from .transaction import Client, Committed, Transaction

_T = TypeVar("_T")

_TRIES: Final = 200


class RedisTransactions:
    def __init__(self, client: Client, keys: Keys) -> None:
        self.client: Final = client
        self.keys: Final = keys
        self.commits = 0
        """Number of commits of this object."""
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def transact(self, work: Callable[[Transaction], Awaitable[_T]]) -> tuple[_T, Committed]:
        """Run `work` and commit the writes of its transaction. It is called again, with a new transaction, if a
        document that it has read was changed meanwhile. Some other transaction has then succeeded, so all end."""
        changed: tuple[str, ...] = ()
        for attempt in range(_TRIES):
            transaction = Transaction(self.client, self.keys, is_retry=attempt > 0)
            async with self._in_turn(attempt):
                # Among the documents that have changed are some that were thought to be absent.
                await transaction.read([key for key in changed if transaction.is_document(key)])
                try:
                    result = await work(transaction)
                except Exception:
                    # Documents read at different instants may contradict each other, and cached ones may be out of date.
                    if await transaction.is_current():
                        raise
                else:
                    committed = await transaction.commit()
                    if committed is not None:
                        self.commits += committed.number > 0
                        return result, committed
            changed = transaction.changed
        raise StoreUnavailable("Other writers changed the same data again and again; nothing was written.")

    @asynccontextmanager
    async def _in_turn(self, attempt: int) -> AsyncIterator[None]:
        """Let one transaction of this event loop at a time be repeated: they would only hinder each other."""
        if not attempt:
            yield
            return
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            yield
