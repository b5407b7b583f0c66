"""The one thread that writes: requests from anywhere share a transaction, and hear of it when it is on the disk."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Any, Final, NamedTuple, TypeVar

import apsw

from ...errors import StoreUnavailable
from .checkpoints import Checkpoints
from .failure import translated
from .link import Link

_T = TypeVar("_T")

_GROUP_SECONDS: Final = 0.005
"""So long may the requests of one transaction take together, so that nobody waits for a long queue."""


class Request(NamedTuple):
    """`glance` may answer without a transaction; `single` is one statement, which needs none around it."""

    work: Callable[[Link], Any]
    urgent: bool
    glance: Callable[[Link], Any] | None
    single: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class _Answer(NamedTuple):
    request: Request
    value: Any = None
    error: BaseException | None = None


class Writer:
    """`connect` is called on the writer's own thread, and `undone` whenever something was rolled back."""

    def __init__(self, connect: Callable[[], Link], undone: Callable[[], None]) -> None:
        self._connect = connect
        self._undone = undone
        self._inbox: SimpleQueue[Request | None] = SimpleQueue()
        self._urgent: deque[Request] = deque()
        self._patient: deque[Request] = deque()
        self._thread: Thread | None = None
        self._closing = False
        self._door = Lock()
        self._statements = 0
        self.transactions = 0

    @property
    def statements(self) -> int:
        return self._statements

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        self._thread = Thread(target=self._live, args=(loop, ready), name="horae-sqlite-writer", daemon=True)
        self._thread.start()
        await ready

    async def do(
        self,
        work: Callable[[Link], _T],
        *,
        urgent: bool = True,
        glance: Callable[[Link], _T | None] | None = None,
        single: bool = False,
    ) -> _T:
        """Have it done in a transaction; the answer comes when that is committed. Any loop in any thread may ask."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        with self._door:
            if self._closing or self._thread is None:
                raise StoreUnavailable("The store is closed.")
            self._inbox.put(Request(work, urgent, glance, single, loop, future))
        return await future

    async def stop(self) -> None:
        """What was accepted is still done."""
        with self._door:
            if not self._closing:
                self._closing = True
                self._inbox.put(None)
        if self._thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    # --- on the thread -------------------------------------------------------------------------------------------

    def _live(self, loop: asyncio.AbstractEventLoop, ready: asyncio.Future[None]) -> None:
        try:
            link = self._connect()
        except BaseException as error:  # noqa: BLE001 - whoever opens the store must hear of it, whatever it was
            with self._door:
                self._closing = True
            _tell(loop, [(ready, None, error)])
            return
        checkpoints = Checkpoints(link)
        _tell(loop, [(ready, None, None)])
        open_for_more = True
        while open_for_more or self._urgent or self._patient:
            open_for_more = self._take_in(wait=not (self._urgent or self._patient)) and open_for_more
            if self._urgent or self._patient:
                _deliver(self._group(link))
            checkpoints.after_group(idle=self._inbox.empty())
            self._statements = link.statements
        checkpoints.last()
        link.close()

    def _take_in(self, *, wait: bool) -> bool:
        """Everything that has arrived; False once the end was asked for."""
        try:
            request = self._inbox.get(block=wait)
            while request is not None:
                (self._urgent if request.urgent else self._patient).append(request)
                request = self._inbox.get_nowait()
        except Empty:
            return True
        return False

    def _group(self, link: Link) -> list[_Answer]:
        """One transaction for what is waiting now; who is urgent overtakes."""
        answers: list[_Answer] = []
        members = len(self._urgent) + len(self._patient)
        until = perf_counter() + _GROUP_SECONDS
        try:
            for _ in range(members):
                request = self._urgent.popleft() if self._urgent else self._patient.popleft()
                answers.append(_Answer(request))
                answers[-1] = self._answer(link, request, alone=members == 1)
                if perf_counter() > until:
                    break
                if not self._urgent and self._patient and not self._take_in(wait=False):
                    # The end was asked for meanwhile; it comes round again when the queues are empty.
                    self._inbox.put(None)
            if link.in_transaction:
                link.query("COMMIT")
                self.transactions += 1
        except BaseException as error:  # noqa: BLE001 - nobody who waits may be left without an answer
            return self._all_lost(link, answers, error)
        return answers

    def _answer(self, link: Link, request: Request, *, alone: bool) -> _Answer:
        if not link.in_transaction:
            if request.glance is not None and (seen := request.glance(link)) is not None:
                return _Answer(request, seen)
            if alone and request.single:
                value = request.work(link)
                self.transactions += 1
                return _Answer(request, value)
            link.query("BEGIN IMMEDIATE")
        link.query("SAVEPOINT request")
        try:
            value = request.work(link)
        except BaseException as error:
            self._undone()
            if not link.in_transaction:
                # SQLite has given up the whole transaction, and with it what the others of the group had written.
                raise
            link.query("ROLLBACK TO request")
            link.query("RELEASE request")
            return _Answer(request, error=error)
        link.query("RELEASE request")
        return _Answer(request, value)

    def _all_lost(self, link: Link, answers: list[_Answer], error: BaseException) -> list[_Answer]:
        self._undone()
        if link.in_transaction:
            # If even this fails, the next BEGIN says whether the connection still works.
            with suppress(apsw.Error):
                link.query("ROLLBACK")
        return [_Answer(each.request, error=each.error or error) for each in answers]


def _deliver(answers: list[_Answer]) -> None:
    """One call for each event loop, however many of its requests were answered."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any, BaseException | None]]] = {}
    for request, value, error in answers:
        told = translated(error) if isinstance(error, apsw.Error) else error
        if told is not error:
            told.__cause__ = error  # type: ignore[union-attr]
        by_loop.setdefault(request.loop, []).append((request.future, value, told))
    for loop, told_here in by_loop.items():
        _tell(loop, told_here)


def _tell(loop: asyncio.AbstractEventLoop, told: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    try:
        loop.call_soon_threadsafe(_resolve, told)
    except RuntimeError:
        # Whoever asked has closed the loop in which the answer was awaited.
        return


def _resolve(told: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for future, value, error in told:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
