"""Feed port of the Redis store: the event log is a stream whose ids are the numbers of the events."""

from __future__ import annotations

from collections.abc import Collection

from ...model.events.event import REMOVED_EVENTS, NumberedEvent
from .layout.documents import decode_event_text, decode_record_document
from .reads.index_reads import read_at_once
from .transactions.runner import RedisTransactions
from .transactions.transaction import VERSION_LENGTH


class RedisFeed:
    _database: RedisTransactions

    async def events(self, after: int, limit: int = 1_000, owner: str | None = None) -> tuple[NumberedEvent, ...]:
        keys, client = self._database.keys, self._database.client
        if owner is None:
            rows = await client.call("XRANGE", keys.events, f"({max(after, 0)}-0", "+", "COUNT", limit)
            return tuple([decode_event_text(int(name.partition("-")[0]), fields["e"]) for name, fields in rows])
        found = await client.run_script("owner_events", [keys.events, keys.owner_events(owner)], [after, limit])
        pairs = zip(found[::2], found[1::2], strict=True)
        return tuple([decode_event_text(int(number), text) for number, text in pairs])

    async def last_event(self) -> int:
        return int(await self._database.client.call("GET", self._database.keys.last_event) or 0)

    async def owner_event_counts(self, owners: Collection[str], until: int) -> dict[str, int]:
        keys = self._database.keys
        named = list(dict.fromkeys(owners))
        answers = await read_at_once(
            self._database,
            [
                command
                for owner in named
                for command in (
                    ("GET", keys.record(REMOVED_EVENTS, owner)),
                    ("ZCOUNT", keys.owner_events(owner), "-inf", until),
                )
            ],
        )
        return {
            owner: _removed(removed) + int(stored)
            for owner, removed, stored in zip(named, answers[::2], answers[1::2], strict=True)
        }


def _removed(value: str | None) -> int:
    return int(decode_record_document(value[VERSION_LENGTH:]).body) if value else 0
