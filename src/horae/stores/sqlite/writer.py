"""Writer thread with group commit: waiting requests share one transaction and get their results after its commit.

It runs checkpoints of the write-ahead log when it is idle, and always before the log grows too long.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Any, Final, TypeVar

import apsw

from ...errors import StoreUnavailable
from .connection import SqliteConnection
from .write_requests import BatchableWrite, WriteRequest, WriteResult, deliver_results, resolve_futures

_T = TypeVar("_T")

_GROUP_SECONDS: Final = 0.005
"""Time budget of one group, so that a request does not wait for the whole queue."""
_MAX_URGENT_GROUPS: Final = 4
"""Consecutive groups of urgent requests before a deferrable one is executed."""
_MAX_BATCHED: Final = 32
"""Largest number of requests that are merged into the same statements."""


class Writer:
    """`connect` is called on the writer thread."""

    def __init__(self, connect: Callable[[], SqliteConnection]) -> None:
        self._connect = connect
        self._inbox: SimpleQueue[WriteRequest | None] = SimpleQueue()
        self._urgent: deque[WriteRequest] = deque()
        self._deferrable: deque[WriteRequest] = deque()
        self._thread: Thread | None = None
        self._lock = Lock()
        self._closing = False
        self._accepts_requests = True
        self._urgent_groups = 0
        self.statements = 0
        self.transactions = 0

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        thread = Thread(target=self._run, args=(loop, ready), name="horae-sqlite-writer", daemon=True)
        self._thread = thread
        thread.start()
        try:
            await ready
        except asyncio.CancelledError:
            # The caller cancelled the start, so the thread ends.
            with self._lock:
                self._closing = True
                self._inbox.put(None)
            raise
        except BaseException:
            # The thread is ending; after the error is raised, no thread is left.
            thread.join()
            raise

    async def submit(
        self,
        work: Callable[[SqliteConnection], _T],
        *,
        urgent: bool = True,
        peek: Callable[[SqliteConnection], _T | None] | None = None,
        autocommit: bool = False,
        batchable: BatchableWrite | None = None,
    ) -> _T:
        """Run `work` in a transaction and return its result after the commit; can be called from any event loop.

        `peek` may return the result without a transaction. `autocommit` marks work of one statement. `batchable` lets
        the writer merge the request with others. A request that is not urgent waits for urgent ones.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        with self._lock:
            if self._closing or self._thread is None:
                raise StoreUnavailable("The store is closed.")
            self._inbox.put(WriteRequest(work, urgent, peek, autocommit, loop, future, batchable))
        return await future

    async def stop(self) -> None:
        """Stop after all accepted requests are executed."""
        with self._lock:
            if not self._closing:
                self._closing = True
                self._inbox.put(None)
        if self._thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    # --- on the writer thread ------------------------------------------------------------------------------------

    def _run(self, loop: asyncio.AbstractEventLoop, ready: asyncio.Future[None]) -> None:
        try:
            connection = self._connect()
        except BaseException as error:  # noqa: BLE001 - every error is raised in `start`
            with self._lock:
                self._thread = None
            resolve_futures(loop, [(ready, None, error)])
            return
        resolve_futures(loop, [(ready, None, None)])
        self._process_requests(connection)
        connection.close()

    def _process_requests(self, connection: SqliteConnection) -> None:
        checkpoints = Checkpointer(connection)
        while self._accepts_requests or self._urgent or self._deferrable:
            if not self._urgent and not self._deferrable:
                self._drain_inbox(checkpoints.idle_timeout)
            if self._urgent or self._deferrable:
                results = self._commit_group(connection)
                self.statements = connection.statements
                deliver_results(results)
                if not self._urgent:
                    self._drain_inbox(0)
                checkpoints.run_after_group(has_waiting=bool(self._urgent))
            elif self._accepts_requests:
                checkpoints.run_when_idle()
        checkpoints.run_final()

    def _drain_inbox(self, timeout: float | None) -> None:
        """Queue all requests that have arrived; wait at most `timeout` seconds for the first (None: without limit)."""
        try:
            request = self._inbox.get(block=timeout != 0, timeout=timeout)
            while request is not None:
                (self._urgent if request.urgent else self._deferrable).append(request)
                request = self._inbox.get_nowait()
        except Empty:
            return
        self._accepts_requests = False

    def _commit_group(self, connection: SqliteConnection) -> list[WriteResult]:
        """Execute waiting requests, and those that arrive meanwhile, in one transaction and commit it.

        Urgent requests go first, and a group with an urgent request takes no deferrable one after it.
        """
        results: list[WriteResult] = []
        has_urgent = False
        self._promote_deferrable()
        until = perf_counter() + _GROUP_SECONDS
        try:
            while self._urgent or (self._deferrable and not has_urgent):
                if results and perf_counter() > until:
                    break
                request = self._urgent.popleft() if self._urgent else self._deferrable.popleft()
                has_urgent = has_urgent or request.urgent
                is_alone = not (results or self._urgent or self._deferrable)
                batch = self._take_batch(request)
                results += [WriteResult(each) for each in batch]
                results[-len(batch) :] = self._execute_batch(connection, batch, is_alone=is_alone)
                if not connection.in_transaction:
                    # The request needed no transaction: its result must not depend on other requests.
                    break
                if len(batch) > 1:
                    # A merged batch is a group of its own: later requests form the next batch, and other processes
                    # wait for the file.
                    break
                if not self._urgent:
                    # Requests that arrived meanwhile join: another commit would cost all of them more than the wait.
                    self._drain_inbox(0)
            if connection.in_transaction:
                connection.query("COMMIT")
                self.transactions += 1
        except BaseException as error:  # noqa: BLE001 - every waiting request gets a result
            return self._fail_group(connection, results, error)
        return results

    def _take_batch(self, request: WriteRequest) -> list[WriteRequest]:
        """Return the request and those queued behind it that can be merged with it."""
        batch = [request]
        if request.batchable is not None:
            queue = self._urgent if request.urgent else self._deferrable
            while queue and len(batch) < _MAX_BATCHED and _can_batch(queue[0], request):
                batch.append(queue.popleft())
        return batch

    def _promote_deferrable(self) -> None:
        """Prevent starvation: after `_MAX_URGENT_GROUPS` groups, the next one begins with a deferrable request."""
        if not self._deferrable or not self._urgent:
            self._urgent_groups = 0
            return
        self._urgent_groups += 1
        if self._urgent_groups > _MAX_URGENT_GROUPS:
            self._urgent.appendleft(self._deferrable.popleft())
            self._urgent_groups = 0

    def _execute(self, connection: SqliteConnection, request: WriteRequest, *, is_alone: bool) -> WriteResult:
        """Execute one request in a savepoint of the open transaction, or in a new transaction."""
        begins = not connection.in_transaction
        try:
            work = _prepare(request)
        except BaseException as error:  # noqa: BLE001 - raised in the caller
            return WriteResult(request, error=error)
        try:
            if begins:
                if request.peek is not None and (value := request.peek(connection)) is not None:
                    return WriteResult(request, value)
                if is_alone and request.autocommit:
                    self.transactions += 1
                    return WriteResult(request, work(connection))
            if begins:
                connection.begin()
            else:
                connection.query("SAVEPOINT request")
            value = work(connection)
            if not begins:
                connection.query("RELEASE request")
        except BaseException as error:
            if not begins and not connection.in_transaction:
                # SQLite has rolled back the whole transaction, with the writes of the other requests of the group.
                raise
            _roll_back(connection, begins=begins)
            return WriteResult(request, error=error)
        return WriteResult(request, value)

    def _execute_batch(
        self, connection: SqliteConnection, requests: list[WriteRequest], *, is_alone: bool
    ) -> list[WriteResult]:
        """Execute requests merged into one; if that fails, execute each on its own."""
        if len(requests) > 1 and self._execute(connection, _merge(requests), is_alone=False).error is None:
            return [WriteResult(each) for each in requests]
        return [self._execute(connection, each, is_alone=is_alone) for each in requests]

    def _fail_group(
        self, connection: SqliteConnection, results: list[WriteResult], error: BaseException
    ) -> list[WriteResult]:
        # If the rollback fails too, the next BEGIN shows whether the connection still works.
        with suppress(apsw.Error):
            if connection.in_transaction:
                connection.query("ROLLBACK")
        return [WriteResult(each.request, error=each.error or error) for each in results]


def _can_batch(request: WriteRequest, other: WriteRequest) -> bool:
    return (
        request.batchable is not None
        and other.batchable is not None
        and request.batchable.prepare == other.batchable.prepare
    )


def _merge(requests: list[WriteRequest]) -> WriteRequest:
    writes = [each.batchable for each in requests if each.batchable is not None]
    items = tuple(chain.from_iterable(batchable.items for batchable in writes))
    return requests[0]._replace(batchable=writes[0]._replace(items=items))


def _prepare(request: WriteRequest) -> Callable[[SqliteConnection], Any]:
    """Return the function that writes the request; encoding happens here, before a transaction is open."""
    return request.work if request.batchable is None else request.batchable.prepare(request.batchable.items)


def _roll_back(connection: SqliteConnection, *, begins: bool) -> None:
    """Roll back the writes of one request; does nothing if its transaction did not begin."""
    if not begins:
        connection.query("ROLLBACK TO request")
        connection.query("RELEASE request")
    elif connection.in_transaction:
        connection.query("ROLLBACK")


_IDLE_PAGES: Final = 256
"""Pages (about 1 MB, a few milliseconds) at which an idle writer runs a checkpoint."""
_IDLE_SECONDS: Final = 0.004
_GROUP_PAGES: Final = 1_000
"""Pages (about 4 MB, ten milliseconds) at which it runs between two groups. The log is not truncated: overwriting it is
faster than growing the file again."""
_BUSY_PAGES: Final = 4_000
"""Pages (about 16 MB) at which it runs even if urgent requests are waiting."""
_TRUNCATE_PAGES: Final = 16_000
"""Pages (about 64 MB) at which it waits briefly for readers and truncates the log."""
_READER_WAIT_SECONDS: Final = 0.05


class Checkpointer:
    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._pages = 0
        self._retry_at = 0
        connection.on_wal(self._update_size)

    @property
    def idle_timeout(self) -> float | None:
        """Seconds that the writer waits for a request before it runs a checkpoint; None if none is needed."""
        return _IDLE_SECONDS if self._pages >= max(_IDLE_PAGES, self._retry_at) else None

    def run_when_idle(self) -> None:
        if self.idle_timeout is not None:
            self._run(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def run_after_group(self, *, has_waiting: bool) -> None:
        """Run a checkpoint between two groups; with waiting requests only if it cannot be postponed."""
        if self._pages >= max(_TRUNCATE_PAGES, self._retry_at):
            self._run(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        elif self._pages >= max(_BUSY_PAGES if has_waiting else _GROUP_PAGES, self._retry_at):
            self._run(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def run_final(self) -> None:
        self._run(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _update_size(self, pages: int) -> None:
        if pages < self._pages:
            # The log was restarted: the reader that blocked the last checkpoint has finished.
            self._retry_at = 0
        self._pages = pages

    def _run(self, mode: int) -> None:
        """Run a checkpoint. A failure loses nothing: the log is kept, and a later attempt follows."""
        self._retry_at = self._pages + (_IDLE_PAGES if mode == apsw.SQLITE_CHECKPOINT_PASSIVE else _BUSY_PAGES)
        with suppress(apsw.Error), self._connection.busy_timeout(_READER_WAIT_SECONDS):
            written, done = self._connection.raw.wal_checkpoint(mode=mode)
            if written == done:
                self._pages = self._retry_at = 0
