"""Watcher of requests: looks for files of all groups once a second, carries them out group by group in turn, and answers.

Work on files is done in a thread, because a directory of a container may be large or slow. A request whose execution
failed with the store stays claimed, and is tried again with the next look.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ...clock import Clock
from ...errors import StoreError
from .answers import Answer
from .executor import RequestExecutor
from .group_list import GroupList
from .inbox import Inbox, Request

RESCAN_SECONDS: Final = 1.0
BUSY_SECONDS: Final = 0.1
"""Between two looks for a few seconds after a request: an agent that has its answer often writes the next one."""
_BUSY_FOR: Final = 5.0
REQUESTS_PER_MINUTE: Final = 600
"""Requests of one group that are carried out within a minute, where no quota says otherwise; those beyond are refused, and an
audit row counts them."""
_LIMIT_SECONDS: Final = 5.0
"""How long the limit of a group counts before it is read again."""
_ROW_SECONDS: Final = 60.0
"""At most one audit row of each kind and group is written within this time."""
_ROW_CODES: Final = 8
"""Codes of refusals that one row counts by name."""
_FLOOD: Final = "request.flood"
_REFUSED: Final = "request.refused"
_log: Final = logging.getLogger(__name__)

RunBlocking = Callable[..., Awaitable[Any]]


class RequestWatcher:
    """`load_limit` returns the requests of a group that are carried out within a minute. `run_blocking` calls a function that
    works on files; by default in a thread."""

    def __init__(
        self,
        groups: GroupList,
        clock: Clock,
        inbox: Inbox,
        executor: RequestExecutor,
        *,
        load_limit: Callable[[str], Awaitable[int]],
        run_blocking: RunBlocking = asyncio.to_thread,
    ) -> None:
        self._groups = groups
        self._clock = clock
        self._inbox = inbox
        self._executor = executor
        self._load_limit = load_limit
        self._run_blocking = run_blocking
        self._unanswered: deque[Request] = deque()
        """Claimed requests that the store could not take yet."""
        self._buckets: dict[str, _Bucket] = {}
        self._refusals: dict[tuple[str, str], _Refusals] = {}
        """By group and action: what the next audit row says."""
        self._unsafe: set[tuple[str, str]] = set()
        """Directories that an audit row has named."""
        self._turn = 0
        self._served = -_BUSY_FOR
        self._wake_up = WakeUp(clock)

    async def run(self) -> None:
        """Recover what an earlier process has claimed, then look for requests until cancelled."""
        await self.recover()
        while True:
            has_more = await self.look()
            if not has_more:
                is_busy = self._clock.steady() - self._served < _BUSY_FOR
                await self._wake_up.wait(BUSY_SECONDS if is_busy else RESCAN_SECONDS)

    def wake(self) -> None:
        """Look at once; called when an agent of this process may have written something."""
        self._wake_up.set()

    async def recover(self) -> None:
        """Take up the requests that were claimed and not answered before the host ended."""
        self._unanswered.extend(await self._run_blocking(_list, self._inbox.recover()))

    async def look(self) -> bool:
        """Carry out the requests that wait now, up to the limit of one look; return whether more are left."""
        try:
            folders = [group.folder for group in await self._groups.get()]
            # Another group begins each time.
            self._turn = (self._turn + 1) % max(1, len(folders))
            folders = folders[self._turn :] + folders[: self._turn]
            # One after the other: what is claimed is never lost with an error of the next step.
            self._unanswered.extend(await self._run_blocking(_list, self._inbox.adopt(tuple(self._unanswered))))
            self._unanswered.extend(await self._run_blocking(_list, self._inbox.claim(folders)))
            claimed = deque(take_turns(self._unanswered))
            self._unanswered.clear()
            await self._serve(claimed)
            self._count_unsafe()
            await self._write_rows()
            return self._inbox.has_known(folders)
        except (StoreError, OSError) as error:
            _log.warning("Requests of agents wait: %s", error)
            return False

    async def _serve(self, claimed: deque[Request]) -> None:
        flood: list[tuple[Request, Answer]] = []
        if claimed:
            self._served = self._clock.steady()
        while claimed:
            request = claimed[0]
            try:
                bucket = await self._bucket(request.folder)
                if not bucket.take(self._clock.steady()):
                    flood.append((request, self._executor.refuse_flood(request, bucket.most)))
                    self._count(_FLOOD, request.folder)
                    claimed.popleft()
                    continue
                answer = await self._executor.execute(request)
                if answer["status"] == "refused":
                    self._count(_REFUSED, request.folder, str(answer["code"]), request.problem)
                await self._run_blocking(self._inbox.answer, request, answer)
            except BaseException:
                self._unanswered.extend(claimed)
                raise
            claimed.popleft()
        if flood:
            await self._run_blocking(self._answer_all, flood)

    def _answer_all(self, answers: Sequence[tuple[Request, Answer]]) -> None:
        for request, answer in answers:
            self._inbox.answer(request, answer)

    async def _bucket(self, folder: str) -> _Bucket:
        now, bucket = self._clock.steady(), self._buckets.get(folder)
        if bucket is None:
            bucket = self._buckets[folder] = _Bucket(await self._load_limit(folder), now)
        elif now - bucket.read >= _LIMIT_SECONDS:
            bucket.most, bucket.read = await self._load_limit(folder), now
        return bucket

    def _count(self, action: str, folder: str, code: str = "", problem: str = "") -> None:
        now = self._clock.steady()
        counted = self._refusals.setdefault((folder, action), _Refusals(now))
        counted.refused += 1
        counted.last = now
        counted.problem = problem or counted.problem
        if code and (code in counted.codes or len(counted.codes) < _ROW_CODES):
            counted.codes[code] = counted.codes.get(code, 0) + 1

    def _count_unsafe(self) -> None:
        """Count directories that are not read, each once until it is one again."""
        unsafe = self._inbox.unsafe_directories()
        for folder, box in unsafe.keys() - self._unsafe:
            self._count(_REFUSED, folder, "unsafe_directory", unsafe[folder, box])
        self._unsafe = set(unsafe)

    async def _write_rows(self) -> None:
        """Write one row for refusals that have ended, and one a minute while they go on."""
        now = self._clock.steady()
        for (folder, action), counted in self._refusals.items():
            is_over = now - counted.last >= RESCAN_SECONDS or now - counted.first >= _ROW_SECONDS
            if counted.refused and is_over and now - counted.written >= _ROW_SECONDS:
                await self._executor.record(action, folder, counted.detail())
                self._refusals[folder, action] = _Refusals(now, written=now)
        for key in [key for key, counted in self._refusals.items() if not counted.refused]:
            if now - self._refusals[key].written >= _ROW_SECONDS:
                del self._refusals[key]


@dataclass(slots=True)
class _Refusals:
    """Refused requests of a group since its last audit row: how many, by code, and the last problem of a file."""

    first: float
    written: float = float("-inf")
    refused: int = 0
    last: float = 0.0
    problem: str = ""
    codes: dict[str, int] = field(default_factory=dict)

    def detail(self) -> Mapping[str, Any]:
        codes = {"codes": self.codes} if self.codes else {}
        return {"refused": self.refused, **codes, **({"problem": self.problem} if self.problem else {})}


class _Bucket:
    """Token bucket of one group: full at first, and filled again evenly within a minute. `read`: when its limit was read."""

    def __init__(self, most: int, now: float) -> None:
        self.most = most
        self.read = now
        self._tokens = float(most)
        self._filled = now

    def take(self, now: float) -> bool:
        self._tokens = min(self.most, self._tokens + (now - self._filled) * self.most / 60)
        self._filled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def take_turns(requests: Iterable[Request]) -> Iterator[Request]:
    """Yield one request of each group in turn; those of one group stay in their order."""
    queues: dict[str, deque[Request]] = {}
    for request in requests:
        queues.setdefault(request.folder, deque()).append(request)
    while queues:
        for folder in tuple(queues):
            yield queues[folder].popleft()
            if not queues[folder]:
                del queues[folder]


def _list(requests: Iterator[Request]) -> list[Request]:
    return list(requests)


class WakeUp:
    """Wait of a polling loop that another part of the process can end early."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()

    def set(self) -> None:
        """End the wait that goes on now, or the next one."""
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Wait that long, or until `set` is called."""
        waiting = asyncio.ensure_future(self._clock.pause(seconds))
        woken = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait((waiting, woken), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            woken.cancel()
            # `gather` reports the cancellation of this task itself; suppressing that of the two would lose it.
            await asyncio.gather(waiting, woken, return_exceptions=True)
            self._event.clear()
