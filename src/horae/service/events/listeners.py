"""Registry of event listeners: which processes would receive the event of a task, as records that expire.

A listener is a handler of `@app.on`, a terminal (`horae up`, `horae events --follow`), an event stream over HTTP, an
enabled webhook for `task.triggered`, a destination for reminders, or an operator's sink for events (`targets.event.redis`, `targets.event.webhook`).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple, TypeAlias

from ...clock import Clock
from ...entropy import entropy
from ...errors import StoreError
from ...model.events.destination import DESTINATION_KIND, destination_from
from ...model.events.event import Event, EventKind
from ...model.events.webhook import WEBHOOK_KIND, Webhook, webhook_from
from ...model.page import MAX_PAGE_SIZE
from ...model.policy import Notify
from ...model.task import Target
from ...ports.records import Record, Records

Via: TypeAlias = Literal["process", "terminal", "stream", "redis", "webhook"]
_KIND: Final = "listener"
_DEFAULT_TOPIC: Final = EventKind.TASK_TRIGGERED.value
_EXPIRES_AFTER: Final = timedelta(seconds=30)
_RENEW_SECONDS: Final = 10.0
_CACHE_SECONDS: Final = 1.0
"""Seconds for which a process trusts its last read."""


class ListenerKind(NamedTuple):
    """A kind of listener. `owner` None: tasks of every owner; `task_id` None: every task of that owner."""

    via: Via
    owner: str | None = None
    task_id: str | None = None
    pattern: str = "*"
    """Pattern of the topics that it receives."""

    def receives(self, owner: str, task_id: str, topic: str) -> bool:
        is_owner = self.owner in (None, owner)
        return is_owner and self.task_id in (None, task_id) and fnmatchcase(topic, self.pattern)


class Reach(NamedTuple):
    """Number of listeners of all processes that receive an event now. `others` are those that a node counts itself."""

    streams: int = 0
    webhooks: int = 0
    terminals: int = 0
    others: int = 0
    destinations: int = 0
    """Destinations for reminders; only a task that says something reaches them."""

    @property
    def total(self) -> int:
        return self.streams + self.webhooks + self.terminals + self.others

    def hears(self, target: Target, notify: Notify | str | None = None) -> bool:
        """Whether any receiver wants the event of such a task: listeners, webhooks or notices."""
        has_people = self.destinations > 0 or isinstance(notify, Notify)
        return self.total > 0 or (has_people and says_something(target))


class _Listeners:
    """Listeners with their numbers, and the webhooks and destinations of each owner, parsed once."""

    def __init__(
        self, audiences: list[tuple[ListenerKind, int]], webhooks: list[Record], destinations: list[Record]
    ) -> None:
        self.audiences = audiences
        self._webhooks = webhooks
        self._destinations = destinations
        self._of_owner: dict[str, tuple[list[Webhook], int]] = {}

    def of_owner(self, owner: str) -> tuple[list[Webhook], int]:
        """Return the enabled webhooks of an owner, and the number of its destinations for reminders."""
        if owner not in self._of_owner:
            webhooks = [webhook_from(record) for record in self._webhooks if record.owner == owner]
            reminders = sum(
                1 for each in self._destinations if each.owner == owner and destination_from(each).reminders
            )
            self._of_owner[owner] = [each for each in webhooks if each.enabled], reminders
        return self._of_owner[owner]


class ListenerRegistry:
    """Reads the listeners of all processes of a deployment."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._cache: tuple[float, _Listeners] | None = None

    def announcer(self) -> ListenerAnnouncer:
        return ListenerAnnouncer(self._records, self._clock, self._drop_cache)

    @asynccontextmanager
    async def announce(self, audience: ListenerKind) -> AsyncIterator[None]:
        """Register one listener for as long as the block lasts."""
        announcer = self.announcer()
        try:
            await announcer.join(audience)
            yield
        finally:
            await announcer.close()

    async def reach(self, owner: str, task_id: str, topic: str, *, fresh: bool = False) -> Reach:
        """Count the listeners that receive an event; `fresh` bypasses the cache."""
        found = await self._load_listeners(fresh=fresh)
        counted = dict.fromkeys(("stream", "terminal"), 0)
        others = 0
        for each, number in found.audiences:
            if not each.receives(owner, task_id, topic):
                continue
            if each.via in counted:
                counted[each.via] += number
            else:
                others += number
        webhooks, destinations = found.of_owner(owner)
        return Reach(
            streams=counted["stream"],
            webhooks=self._count_webhooks(webhooks, owner, task_id) if webhooks else 0,
            terminals=counted["terminal"],
            others=others,
            destinations=destinations,
        )

    def _count_webhooks(self, webhooks: Sequence[Webhook], owner: str, task_id: str) -> int:
        event = Event(EventKind.TASK_TRIGGERED, self._clock.now(), owner, task_id)
        return sum(1 for each in webhooks if each.matches(event))

    def _drop_cache(self) -> None:
        self._cache = None

    async def _load_listeners(self, *, fresh: bool) -> _Listeners:
        steady = self._clock.steady()
        if not fresh and self._cache is not None and steady - self._cache[0] < _CACHE_SECONDS:
            return self._cache[1]
        now = self._clock.now()
        live_records = [each for each in await self._read_all(_KIND) if each.expires is None or each.expires > now]
        audiences = [pair for each in live_records for pair in _parse_audiences(each)]
        found = _Listeners(audiences, await self._read_all(WEBHOOK_KIND), await self._read_all(DESTINATION_KIND))
        self._cache = steady, found
        return found

    async def _read_all(self, kind: str) -> list[Record]:
        records: list[Record] = []
        after: str | None = None
        while True:
            page = await self._records.records(kind, None, after, MAX_PAGE_SIZE)
            records += page.items
            after = page.after
            if after is None:
                return records


class ListenerAnnouncer:
    """The listeners of this process, as one record that is renewed while there are any."""

    def __init__(self, records: Records, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self._records = records
        self._clock = clock
        self._changed = changed
        self._key = entropy(16).hex()
        self._counts: Counter[ListenerKind] = Counter()
        self._write_lock = asyncio.Lock()
        self._renewal: asyncio.Task[None] | None = None

    async def join(self, audience: ListenerKind) -> None:
        self._counts[audience] += 1
        # Only the first listener of a kind is written at once; the exact number follows with the next renewal.
        if self._counts[audience] == 1:
            await self._write()
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.ensure_future(self._renew())

    async def leave(self, audience: ListenerKind) -> None:
        self._counts[audience] -= 1
        if self._counts[audience] <= 0:
            del self._counts[audience]
            await self._write()

    async def close(self) -> None:
        renewing, self._renewal = self._renewal, None
        if renewing is not None:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        self._counts.clear()
        await self._write()

    async def _renew(self) -> None:
        while self._counts:
            await self._clock.pause(_RENEW_SECONDS)
            await self._write()

    async def _write(self) -> None:
        """Write the record; a store error is ignored, because the record expires or is renewed later."""
        try:
            async with self._write_lock:
                await self._put()
        except StoreError:
            return
        finally:
            self._changed()

    async def _put(self) -> None:
        while True:
            known = await self._records.get_record(_KIND, self._key)
            if not self._counts:
                if known is None or await self._records.drop_record(_KIND, self._key, known.version):
                    return
                continue
            body = json.dumps([[*each, number] for each, number in self._counts.items()])
            record = Record(_KIND, self._key, "", body, expires=self._clock.now() + _EXPIRES_AFTER)
            if await self._records.put_record(record, replacing=None if known is None else known.version):
                return


def topic_of(target: Target) -> str:
    """Return the topic of an event target; an invalid spec is refused elsewhere and gets the default topic here."""
    try:
        spec = json.loads(target.spec)
    except ValueError:
        return _DEFAULT_TOPIC
    topic = spec.get("topic", _DEFAULT_TOPIC) if isinstance(spec, dict) else _DEFAULT_TOPIC
    return topic if isinstance(topic, str) else _DEFAULT_TOPIC


def says_something(target: Target) -> bool:
    """Whether an event target has a text for people."""
    try:
        spec = json.loads(target.spec)
    except ValueError:
        return False
    return isinstance(spec, dict) and isinstance(spec.get("say"), str)


def _parse_audiences(record: Record) -> Iterable[tuple[ListenerKind, int]]:
    for via, owner, task_id, pattern, number in json.loads(record.body):
        yield ListenerKind(via, owner, task_id, pattern), number
