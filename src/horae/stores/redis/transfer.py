"""Transfer port of the Redis store: exports every part page by page, and imports pages of another store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, cast

from ...model.page import Page
from ...ports.journal import NumberedLine
from ...ports.transfer import (
    BlockedOwner,
    CounterValue,
    LaneLimit,
    MetadataItem,
    Part,
    TransferItem,
)
from ..transfer_pages import (
    ReadableStore,
    decode_position,
    encode_position,
    make_marks_page,
    make_page,
    read_page,
)
from .journal import decode_line
from .layout.counters import parse_counts
from .layout.document_cache import DocumentCache
from .layout.documents import decode_chain_document, decode_message_text, decode_record_document, decode_stream_document
from .layout.keys import SEPARATOR, stream_member
from .layout.lane_documents import decode_lane, decode_limits
from .reads.index_reads import fetch_texts, read_at_once, read_texts
from .transactions.import_items import EPOCH_SHIFT, IMPORTERS
from .transactions.runner import RedisTransactions
from .transactions.transaction import Transaction


class RedisTransfer:
    _database: RedisTransactions
    _cache: DocumentCache

    async def count_parts(self) -> dict[Part, int]:
        database, keys = self._database, self._database.keys
        sizes = {
            Part.METADATA: ("HLEN", keys.metadata),
            Part.NODES: ("ZCARD", keys.nodes),
            Part.TASKS: ("ZCARD", keys.task_numbers),
            Part.CHAINS: ("ZCARD", keys.chains),
            Part.EVENTS: ("XLEN", keys.events),
            Part.STREAMS: ("ZCARD", keys.streams),
        }
        answers = await read_at_once(database, [*sizes.values(), ("ZCARD", keys.runs), ("HLEN", keys.live)])
        *counted, runs, live = map(int, answers)
        counts = dict(zip(sizes, counted, strict=True))
        counts[Part.RUNS] = runs - live
        counts[Part.MARKS] = len(await self._marks(None, 10))
        counts[Part.LANES] = len(await self._lanes())
        counts[Part.BLOCKED_OWNERS] = len(await self._blocked_owners())
        counts[Part.COUNTERS] = len(await self._counters())
        kinds = await database.client.call("ZRANGE", keys.record_kinds, 0, -1)
        counts[Part.RECORDS] = await self._sum([("ZCARD", keys.record_keys(kind)) for kind in kinds])
        logged = await database.client.call("ZRANGE", keys.logged_runs, 0, -1)
        counts[Part.LINES] = await self._sum([("LLEN", keys.log(run_id)) for run_id in logged])
        streams = [each.split(SEPARATOR) for each in await database.client.call("ZRANGE", keys.streams, 0, -1)]
        counts[Part.MESSAGES] = await self._sum([("HLEN", keys.messages(*each)) for each in streams])
        return {part: counts[part] for part in Part}

    async def _sum(self, commands: Sequence[tuple[str, ...]]) -> int:
        return sum(map(int, await read_at_once(self._database, commands)))

    async def export_page(self, part: Part, after: str | None = None, limit: int = 500) -> Page[TransferItem]:
        reader = _READERS.get(part)
        if reader is None:
            return await read_page(cast("ReadableStore", self), part, after, limit)
        return await reader(self, after, limit)

    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        items = tuple(parcels)
        if not items:
            return

        async def work(transaction: Transaction) -> None:
            await IMPORTERS[part](transaction, items)

        await self._database.transact(work)
        # Tasks and limits may have been replaced.
        self._cache.clear()

    # --- export --------------------------------------------------------------------------------------------------------

    async def _marks(self, after: str | None, limit: int) -> tuple[TransferItem, ...]:
        return (await self._export_marks(after, limit)).items

    async def _export_marks(self, after: str | None, limit: int) -> Page[TransferItem]:
        keys = self._database.keys
        (epoch, counter), event = await read_at_once(
            self._database, [("HMGET", keys.tokens, "epoch", "counter"), ("GET", keys.last_event)]
        )
        token = (int(epoch or 0) << EPOCH_SHIFT) + int(counter or 0)
        return make_marks_page(token, int(event or 0), after, limit)

    async def _export_metadata(self, after: str | None, limit: int) -> Page[TransferItem]:
        fields = await self._database.client.call("HGETALL", self._database.keys.metadata)
        items = [MetadataItem(*field) for field in sorted(fields.items()) if after is None or field[0] > after]
        return make_page(items, limit, lambda item: item.name)

    async def _export_records(self, after: str | None, limit: int) -> Page[TransferItem]:
        keys = self._database.keys
        kind, key = decode_position(after, ("", ""))
        items: list[TransferItem] = []
        for each in await self._database.client.call("ZRANGEBYLEX", keys.record_kinds, f"[{kind}", "+"):
            start = f"({key}" if each == kind and after is not None else "-"
            words = ("ZRANGEBYLEX", keys.record_keys(each), start, "+", "LIMIT", 0, limit - len(items))
            rows = await fetch_texts(self._database, words, keys.record(each, ""))
            items += [decode_record_document(text) for _, text in rows]
            if len(items) >= limit:
                break
        return make_page(items, limit, lambda item: encode_position(*cast("Any", item)[:2]))

    async def _lanes(self) -> list[LaneLimit]:
        keys = self._database.keys
        rows = await fetch_texts(self._database, ("ZRANGE", keys.lanes, 0, -1), keys.lane(""))
        lanes = [(name, decode_lane(text)) for name, text in rows]
        return [
            LaneLimit(name, lane.limit, lane.rate, lane.starts, lane.wake_at)
            for name, lane in lanes
            if lane.limit is not None
        ]

    async def _export_lanes(self, after: str | None, limit: int) -> Page[TransferItem]:
        lanes = [lane for lane in await self._lanes() if after is None or lane.name > after]
        return make_page(lanes, limit, lambda lane: lane.name)

    async def _blocked_owners(self) -> list[BlockedOwner]:
        (text,) = await read_texts(self._database, [self._database.keys.limits])
        return [BlockedOwner(*each) for each in sorted(decode_limits(text).blocked.items())]

    async def _export_blocked_owners(self, after: str | None, limit: int) -> Page[TransferItem]:
        items = [each for each in await self._blocked_owners() if after is None or each.owner > after]
        return make_page(items, limit, lambda item: item.owner)

    async def _counters(self) -> list[CounterValue]:
        keys, client = self._database.keys, self._database.client
        found: list[CounterValue] = []
        for owner in await client.call("ZRANGE", keys.counter_owners, 0, -1):
            counts = parse_counts(await client.call("HGETALL", keys.counters(owner)))
            found += [CounterValue(owner, hour, name, number) for (hour, name), number in counts.items()]
        return sorted(found, key=_counter_key)

    async def _export_counters(self, after: str | None, limit: int) -> Page[TransferItem]:
        first = None if after is None else decode_position(after, ())
        items = [each for each in await self._counters() if first is None or _counter_key(each) > first]
        return make_page(items, limit, lambda item: encode_position(*_counter_key(item)))

    async def _export_chains(self, after: str | None, limit: int) -> Page[TransferItem]:
        """Read chain rows by task number and root."""
        keys, client = self._database.keys, self._database.client
        number, root = decode_position(after, (0, ""))
        items: list[Any] = []
        cursor: tuple[int, str] = (number, root)
        words = ("ZRANGEBYSCORE", keys.task_numbers, number, "+inf", "WITHSCORES")
        numbered = await client.call(*words)
        for task_id, score in zip(numbered[::2], numbered[1::2], strict=True):
            rows = await fetch_texts(
                self._database, ("ZRANGE", keys.task_chains(task_id), 0, -1), keys.chain(task_id, "")
            )
            for each, text in sorted(rows):
                if (int(score), each) > (number, root) and len(items) < limit:
                    items.append(decode_chain_document(text))
                    cursor = int(score), each
            if len(items) >= limit:
                break
        return make_page(items, limit, lambda _: encode_position(*cursor))

    async def _export_lines(self, after: str | None, limit: int) -> Page[TransferItem]:
        keys, client = self._database.keys, self._database.client
        run_id, number = decode_position(after, ("", 0))
        items: list[NumberedLine] = []
        start = f"[{run_id}"
        while len(items) < limit:
            named = await client.call("ZRANGEBYLEX", keys.logged_runs, start, "+", "LIMIT", 0, 100)
            for each in named:
                first = number if each == run_id else 0
                texts = await client.call("LRANGE", keys.log(each), first, first + limit - len(items) - 1)
                items += [NumberedLine(place, decode_line(each, text)) for place, text in enumerate(texts, first + 1)]
                if len(items) >= limit:
                    break
            if len(named) < 100:
                break
            start = f"({named[-1]}"
        return make_page(items, limit, lambda item: encode_position(item.line.run_id, item.number))

    async def _export_streams(self, after: str | None, limit: int) -> Page[TransferItem]:
        keys = self._database.keys
        start = "-" if after is None else f"({stream_member(*decode_position(after, ()))}"
        words = ("ZRANGEBYLEX", keys.streams, start, "+", "LIMIT", 0, limit)
        rows = await fetch_texts(self._database, words, keys.stream_prefix)
        states = [decode_stream_document(text) for _, text in rows]
        return make_page(states, limit, lambda state: encode_position(state.stream.owner, state.stream.name))

    async def _export_messages(self, after: str | None, limit: int) -> Page[TransferItem]:
        keys, client = self._database.keys, self._database.client
        owner, name, number = decode_position(after, ("", "", 0))
        start = "-" if after is None else f"[{stream_member(owner, name)}"
        items: list[Any] = []
        for member in await client.call("ZRANGEBYLEX", keys.streams, start, "+"):
            stream_owner, stream_name = member.split(SEPARATOR)
            (text,) = await read_texts(self._database, [keys.stream(stream_owner, stream_name)])
            if text is None:
                continue
            stream = decode_stream_document(text).stream
            is_begun = (stream_owner, stream_name) == (owner, name)
            first = max(stream.first, number + 1 if is_begun else 0)
            numbers = list(range(first, min(stream.last, first + limit - len(items) - 1) + 1))
            texts = await client.call("HMGET", keys.messages(stream_owner, stream_name), *numbers) if numbers else []
            items += [
                decode_message_text(stream_owner, stream_name, each, found)
                for each, found in zip(numbers, texts, strict=True)
                if found is not None
            ]
            if len(items) >= limit:
                break
        return make_page(items, limit, lambda item: encode_position(item.owner, item.message.stream, item.number))


def _counter_key(counter: CounterValue) -> tuple[int, str, str]:
    return counter.hour, counter.owner, counter.name


_Reader = Callable[[RedisTransfer, str | None, int], Awaitable[Page[TransferItem]]]
_READERS: Final[dict[Part, _Reader]] = {
    Part.MARKS: RedisTransfer._export_marks,  # noqa: SLF001 - of this class
    Part.METADATA: RedisTransfer._export_metadata,  # noqa: SLF001
    Part.RECORDS: RedisTransfer._export_records,  # noqa: SLF001
    Part.LANES: RedisTransfer._export_lanes,  # noqa: SLF001
    Part.BLOCKED_OWNERS: RedisTransfer._export_blocked_owners,  # noqa: SLF001
    Part.COUNTERS: RedisTransfer._export_counters,  # noqa: SLF001
    Part.CHAINS: RedisTransfer._export_chains,  # noqa: SLF001
    Part.LINES: RedisTransfer._export_lines,  # noqa: SLF001
    Part.STREAMS: RedisTransfer._export_streams,  # noqa: SLF001
    Part.MESSAGES: RedisTransfer._export_messages,  # noqa: SLF001
}
