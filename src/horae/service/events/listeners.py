"""Presence of listeners: which processes would pass on the event of a task, kept as records that expire.

A listener is a handler of `@app.on`, a terminal (`horae up`, `horae events --follow`), an event stream over HTTP, an enabled webhook
that takes `task.triggered`, or a place of the operator's for events (`targets.event.redis`, `targets.event.webhook`).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple, TypeAlias

from ...clock import Clock
from ...entropy import entropy
from ...errors import StoreError
from ...model.events.event import Event, EventKind
from ...model.events.webhook_records import WEBHOOK, webhook_from
from ...model.page import LARGEST_PAGE
from ...model.task import Target
from ...ports.records import Record, Records

Via: TypeAlias = Literal["process", "terminal", "stream", "redis", "webhook"]
_KIND: Final = "listener"
_TOPIC: Final = EventKind.TASK_TRIGGERED.value
_LASTS: Final = timedelta(seconds=30)
_RENEWED_EVERY: Final = 10.0
_CACHED: Final = 1.0
"""Seconds for which a process trusts what it has read."""


class Audience(NamedTuple):
    """Listeners of one sort. `owner` None: of every owner's tasks; `task_id` None: of every task of that owner."""

    via: Via
    owner: str | None = None
    task_id: str | None = None
    pattern: str = "*"
    """The topics that it takes."""

    def takes(self, owner: str, task_id: str, topic: str) -> bool:
        is_owner = self.owner in (None, owner)
        return is_owner and self.task_id in (None, task_id) and fnmatchcase(topic, self.pattern)


class Reach(NamedTuple):
    """How many listeners of any process take an event now. `others` are those that a node counts itself."""

    streams: int = 0
    webhooks: int = 0
    terminals: int = 0
    others: int = 0

    @property
    def total(self) -> int:
        return self.streams + self.webhooks + self.terminals + self.others


class Presence:
    """What the processes of a deployment know of their listeners."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._read: tuple[float, list[tuple[Audience, int]], list[Record]] | None = None

    def announcer(self) -> Announcer:
        return Announcer(self._records, self._clock, self._forget)

    @asynccontextmanager
    async def announced(self, audience: Audience) -> AsyncIterator[None]:
        """One listener, for as long as the block lasts."""
        announcer = self.announcer()
        try:
            await announcer.join(audience)
            yield
        finally:
            await announcer.close()

    async def reach(self, owner: str, task_id: str, topic: str, *, fresh: bool = False) -> Reach:
        audiences, webhooks = await self._load(fresh=fresh)
        taking = [(each, number) for each, number in audiences if each.takes(owner, task_id, topic)]
        event = Event(EventKind.TASK_TRIGGERED, self._clock.now(), owner, task_id)
        hooks = [webhook_from(record) for record in webhooks if record.owner == owner]
        counted: Counter[str] = Counter()
        for each, number in taking:
            counted[each.via] += number
        return Reach(
            streams=counted.pop("stream", 0),
            webhooks=sum(1 for each in hooks if each.enabled and each.takes(event)),
            terminals=counted.pop("terminal", 0),
            others=counted.total(),
        )

    def _forget(self) -> None:
        self._read = None

    async def _load(self, *, fresh: bool) -> tuple[list[tuple[Audience, int]], list[Record]]:
        steady = self._clock.steady()
        if not fresh and self._read is not None and steady - self._read[0] < _CACHED:
            return self._read[1], self._read[2]
        now = self._clock.now()
        living = [each for each in await self._all(_KIND) if each.expires is None or each.expires > now]
        audiences = [pair for each in living for pair in _audiences(each)]
        webhooks = await self._all(WEBHOOK)
        self._read = steady, audiences, webhooks
        return audiences, webhooks

    async def _all(self, kind: str) -> list[Record]:
        found: list[Record] = []
        after: str | None = None
        while True:
            page = await self._records.records(kind, None, after, LARGEST_PAGE)
            found += page.items
            after = page.after
            if after is None:
                return found


class Announcer:
    """The listeners of this process, as one record that is renewed while there are any."""

    def __init__(self, records: Records, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self._records = records
        self._clock = clock
        self._changed = changed
        self._key = entropy(16).hex()
        self._members: Counter[Audience] = Counter()
        self._writing = asyncio.Lock()
        self._renewing: asyncio.Task[None] | None = None

    async def join(self, audience: Audience) -> None:
        self._members[audience] += 1
        # A thousand streams of one owner are one write; their number follows with the next renewal.
        if self._members[audience] == 1:
            await self._write()
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.ensure_future(self._renew())

    async def leave(self, audience: Audience) -> None:
        self._members[audience] -= 1
        if self._members[audience] <= 0:
            del self._members[audience]
            await self._write()

    async def close(self) -> None:
        renewing, self._renewing = self._renewing, None
        if renewing is not None:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        self._members.clear()
        await self._write()

    async def _renew(self) -> None:
        while self._members:
            await self._clock.pause(_RENEWED_EVERY)
            await self._write()

    async def _write(self) -> None:
        """A store that does not answer keeps no listener from listening: the record expires, or is renewed later."""
        try:
            async with self._writing:
                await self._put()
        except StoreError:
            return
        finally:
            self._changed()

    async def _put(self) -> None:
        while True:
            found = await self._records.get_record(_KIND, self._key)
            if not self._members:
                if found is None or await self._records.drop_record(_KIND, self._key, found.version):
                    return
                continue
            body = json.dumps([[*each, number] for each, number in self._members.items()])
            record = Record(_KIND, self._key, "", body, expires=self._clock.now() + _LASTS)
            if await self._records.put_record(record, replacing=None if found is None else found.version):
                return


def topic_of(target: Target) -> str:
    """The topic of an event; what is wrong with its spec is refused elsewhere."""
    try:
        spec = json.loads(target.spec)
    except ValueError:
        return _TOPIC
    topic = spec.get("topic", _TOPIC) if isinstance(spec, dict) else _TOPIC
    return topic if isinstance(topic, str) else _TOPIC


def _audiences(record: Record) -> Iterable[tuple[Audience, int]]:
    for via, owner, task_id, pattern, number in json.loads(record.body):
        yield Audience(via, owner, task_id, pattern), number
