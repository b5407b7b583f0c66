"""The one thread that writes: requests from anywhere share a transaction, and hear of it when it is on the disk."""

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
from .checkpoints import Checkpoints
from .connection import Link
from .write_requests import Answer, Request, Share, deliver, tell

_T = TypeVar("_T")

_GROUP_SECONDS: Final = 0.005
"""So long may the requests of one transaction take together, so that nobody waits for a long queue."""
_PATIENCE: Final = 4
"""So many groups of urgent ones may go before a patient one."""
_MOST_SHARED: Final = 32
"""So many requests at most are written in the statements of one."""


class Writer:
    """`connect` is called on the writer's own thread, and `undone` whenever something was rolled back."""

    def __init__(self, connect: Callable[[], Link], undone: Callable[[], None]) -> None:
        self._connect = connect
        self._undone = undone
        self._inbox: SimpleQueue[Request | None] = SimpleQueue()
        self._urgent: deque[Request] = deque()
        self._patient: deque[Request] = deque()
        self._thread: Thread | None = None
        self._door = Lock()
        self._closing = False
        self._more_may_come = True
        self._passed_over = 0
        self.statements = 0
        self.transactions = 0

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        thread = Thread(target=self._live, args=(loop, ready), name="horae-sqlite-writer", daemon=True)
        self._thread = thread
        thread.start()
        try:
            await ready
        except asyncio.CancelledError:
            # Who does not wait for it any more does not want it either.
            with self._door:
                self._closing = True
                self._inbox.put(None)
            raise
        except BaseException:
            # It has said its last word and is ending: whoever hears of the failure finds no thread left.
            thread.join()
            raise

    async def do(
        self,
        work: Callable[[Link], _T],
        *,
        urgent: bool = True,
        glance: Callable[[Link], _T | None] | None = None,
        single: bool = False,
        share: Share | None = None,
    ) -> _T:
        """Have it done in a transaction; the answer comes when that is committed. Any loop in any thread may ask."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        with self._door:
            if self._closing or self._thread is None:
                raise StoreUnavailable("The store is closed.")
            self._inbox.put(Request(work, urgent, glance, single, loop, future, share))
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
                self._thread = None
            tell(loop, [(ready, None, error)])
            return
        tell(loop, [(ready, None, None)])
        self._serve(link)
        link.close()

    def _serve(self, link: Link) -> None:
        checkpoints = Checkpoints(link)
        while self._more_may_come or self._urgent or self._patient:
            if not self._urgent and not self._patient:
                self._take_in(checkpoints.patience)
            if self._urgent or self._patient:
                answers = self._group(link)
                self.statements = link.statements
                deliver(answers)
                if not self._urgent:
                    self._take_in(0)
                checkpoints.after_group(waited_for=bool(self._urgent))
            elif self._more_may_come:
                checkpoints.when_idle()
        checkpoints.last()

    def _take_in(self, patience: float | None) -> None:
        """Everything that has arrived, waiting for the first so many seconds."""
        try:
            request = self._inbox.get(block=patience != 0, timeout=patience)
            while request is not None:
                (self._urgent if request.urgent else self._patient).append(request)
                request = self._inbox.get_nowait()
        except Empty:
            return
        self._more_may_come = False

    def _group(self, link: Link) -> list[Answer]:
        """One transaction for what is waiting, and for what arrives while it is being done.

        Who is urgent overtakes, and never waits for a patient one behind.
        """
        answers: list[Answer] = []
        in_a_hurry = False
        self._let_one_patient_in()
        until = perf_counter() + _GROUP_SECONDS
        try:
            while self._urgent or (self._patient and not in_a_hurry):
                if answers and perf_counter() > until:
                    break
                request = self._urgent.popleft() if self._urgent else self._patient.popleft()
                in_a_hurry = in_a_hurry or request.urgent
                alone = not (answers or self._urgent or self._patient)
                like_it = self._like(request)
                answers += [Answer(each) for each in like_it]
                answers[-len(like_it) :] = self._answers(link, like_it, alone=alone)
                if not link.in_transaction:
                    # Answered, whatever becomes of others: nobody may join it.
                    break
                if len(like_it) > 1:
                    # Many have come along already. Whoever asked meanwhile is many again, and others wait for the file.
                    break
                if not self._urgent:
                    # Whoever asked meanwhile comes along: one commit more would cost all of them more than the wait.
                    self._take_in(0)
            if link.in_transaction:
                link.query("COMMIT")
                self.transactions += 1
        except BaseException as error:  # noqa: BLE001 - nobody who waits may be left without an answer
            return self._all_lost(link, answers, error)
        return answers

    def _like(self, request: Request) -> list[Request]:
        """It, and those behind it that can be written in the same statements."""
        found = [request]
        if request.share is not None:
            queue = self._urgent if request.urgent else self._patient
            while queue and len(found) < _MOST_SHARED and _share(queue[0], request):
                found.append(queue.popleft())
        return found

    def _let_one_patient_in(self) -> None:
        """Patience has an end: where somebody urgent is always there, every fifth group begins with a patient one."""
        if not self._patient or not self._urgent:
            self._passed_over = 0
            return
        self._passed_over += 1
        if self._passed_over > _PATIENCE:
            self._urgent.appendleft(self._patient.popleft())
            self._passed_over = 0

    def _answer(self, link: Link, request: Request, *, alone: bool) -> Answer:
        """Done inside the transaction that is open, or in a new one if there is none."""
        first = not link.in_transaction
        try:
            work = _prepared(request)
        except BaseException as error:  # noqa: BLE001 - whoever asked hears of it
            return Answer(request, error=error)
        try:
            if first:
                if request.glance is not None and (seen := request.glance(link)) is not None:
                    return Answer(request, seen)
                if alone and request.single:
                    self.transactions += 1
                    return Answer(request, work(link))
            if first:
                link.begin()
            else:
                link.query("SAVEPOINT request")
            value = work(link)
            if not first:
                link.query("RELEASE request")
        except BaseException as error:
            self._undone()
            if not first and not link.in_transaction:
                # SQLite has given up the whole transaction, and with it what others of the group had written.
                raise
            _take_back(link, first=first)
            return Answer(request, error=error)
        return Answer(request, value)

    def _answers(self, link: Link, requests: list[Request], *, alone: bool) -> list[Answer]:
        """Several in one; if that cannot be done, each for itself, and those that can be done are."""
        if len(requests) > 1 and self._answer(link, _as_one(requests), alone=False).error is None:
            return [Answer(each) for each in requests]
        return [self._answer(link, each, alone=alone) for each in requests]

    def _all_lost(self, link: Link, answers: list[Answer], error: BaseException) -> list[Answer]:
        self._undone()
        # If even this fails, the next BEGIN says whether the connection still works.
        with suppress(apsw.Error):
            if link.in_transaction:
                link.query("ROLLBACK")
        return [Answer(each.request, error=each.error or error) for each in answers]


def _share(request: Request, other: Request) -> bool:
    return request.share is not None and other.share is not None and request.share.prepare == other.share.prepare


def _as_one(requests: list[Request]) -> Request:
    shares = [each.share for each in requests if each.share is not None]
    given = tuple(chain.from_iterable(share.given for share in shares))
    return requests[0]._replace(share=shares[0]._replace(given=given))


def _prepared(request: Request) -> Callable[[Link], Any]:
    """All that can be done before there is a transaction, for which others would wait."""
    return request.work if request.share is None else request.share.prepare(request.share.given)


def _take_back(link: Link, *, first: bool) -> None:
    """What one request has written; nothing, if not even the transaction could begin."""
    if not first:
        link.query("ROLLBACK TO request")
        link.query("RELEASE request")
    elif link.in_transaction:
        link.query("ROLLBACK")
