"""Messages port of the Redis store: pages of streams, usage and retention; `stores/message_store.py` has the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from ...errors import StoreUnavailable
from ...lifecycle.messages import progress_change
from ...model.ids import to_microseconds
from ...model.messages import KeepRules, RunWrites, Stream, StreamState, StreamUsage
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.record import RecordWrite
from ...ports.messages import MessageTrim
from ..message_store import MessageStore
from ..messages import MessageAccess
from ..transfer_pages import decode_position, encode_position
from .claims.settle import RunUpdater
from .layout.documents import decode_stream_document
from .layout.keys import SEPARATOR, stream_member
from .reads.index_reads import fetch_texts, read_at_once
from .transactions.message_access import RedisMessageAccess
from .transactions.record_writes import write_attached_records
from .transactions.runner import RedisTransactions
from .transactions.transaction import Transaction

_T = TypeVar("_T")

_TRIES = 50


class RedisMessages(MessageStore):
    _database: RedisTransactions
    _run_updater: RunUpdater

    async def _write_streams(
        self,
        work: Callable[[MessageAccess], Awaitable[_T]],
        attached_records: Sequence[RecordWrite] = (),
        *,
        urgent: bool = True,
    ) -> _T:
        del urgent
        records = tuple(attached_records)

        async def transact(transaction: Transaction) -> _T:
            result = await work(RedisMessageAccess(transaction))
            if records and result:
                await write_attached_records(transaction, records)
            return result

        result, _ = await self._database.transact(transact)
        return result

    async def _read_streams(self, work: Callable[[MessageAccess], Awaitable[_T]], *, is_page: bool = False) -> _T:
        del is_page
        for _ in range(_TRIES):
            transaction = Transaction(self._database.client, self._database.keys)
            access = RedisMessageAccess(transaction)
            result = await work(access)
            if not access.has_read_messages or await transaction.is_current():
                return result
        raise StoreUnavailable("The stream was changed again and again while it was read.")

    async def streams(self, owner: str | None, after: str | None = None, limit: int = 100) -> Page[Stream]:
        size = min(limit, MAX_PAGE_SIZE)
        position = None if after is None else decode_position(after, ())
        first = "-" if owner is None else f"[{owner}{SEPARATOR}"
        if position is not None:
            first = f"({stream_member(*(position if owner is None else (owner, position[1])))}"
        last = "+" if owner is None else f"({owner}\x01"
        words = ("ZRANGEBYLEX", self._database.keys.streams, first, last, "LIMIT", 0, size + 1)
        states = await self._fetch_states(words)
        items = tuple(state.stream for state in states[:size])
        return Page(items, encode_position(items[-1].owner, items[-1].name) if len(states) > size else None)

    async def _fetch_states(self, words: Sequence[str | int]) -> list[StreamState]:
        rows = await fetch_texts(self._database, words, self._database.keys.stream_prefix)
        return [decode_stream_document(text) for _, text in rows]

    async def stream_usage(self, owner: str) -> StreamUsage:
        return await RedisMessageAccess(Transaction(self._database.client, self._database.keys)).usage(owner)

    async def commit_writes(self, run_id: str, token: int, writes: RunWrites) -> bool:
        stale = await self._run_updater.release([(run_id, token)], lambda _facts, _run: progress_change(writes, run_id))
        return not stale

    async def trim_messages(self, now: datetime, rules: KeepRules, limit: int) -> MessageTrim:
        removed = 0
        for owner, name in await self._streams_to_trim(now, rules, limit):
            if removed < limit:
                removed += await self._trim_stream(owner, name, rules, limit - removed, now)
        return MessageTrim(removed, more=removed >= limit)

    async def _streams_to_trim(self, now: datetime, rules: KeepRules, limit: int) -> list[tuple[str, str]]:
        keys = self._database.keys
        oldest = to_microseconds(now - min(rules.keep_for, rules.keep_read_for))
        commands: tuple[tuple[str | int, ...], ...] = (
            ("ZRANGEBYSCORE", keys.stream_ages, "-inf", f"({oldest}"),
            ("ZRANGEBYSCORE", keys.stream_sizes, f"({rules.keep}", "+inf"),
            ("ZRANGE", keys.capped_streams, 0, -1),
        )
        # One command where there are none.
        first = await read_at_once(
            self._database, [("ZCOUNT", *commands[0][1:]), ("ZCOUNT", *commands[1][1:]), ("ZCARD", keys.capped_streams)]
        )
        found: set[tuple[str, str]] = set()
        for command in [each for each, size in zip(commands, first, strict=True) if size]:
            states = await self._fetch_states(command)
            found |= {(each.stream.owner, each.stream.name) for each in states if _may_be_trimmed(each, now, rules)}
        return sorted(found)[:limit]


def _may_be_trimmed(state: StreamState, now: datetime, rules: KeepRules) -> bool:
    """Whether a stream is beyond a cap, or its oldest message was passed by every reader and is old enough."""
    stream, cursors, _ = state
    if not stream.stored or stream.oldest is None:
        return False
    keep_for: timedelta = rules.keep_for if stream.keep_for is None else stream.keep_for
    is_read = bool(cursors) and stream.first <= min(cursor.number for cursor in cursors)
    return (
        stream.stored > (rules.keep if stream.keep is None else stream.keep)
        or stream.oldest < now - keep_for
        or (is_read and stream.oldest < now - rules.keep_read_for)
    )
