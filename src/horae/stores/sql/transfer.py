"""Transfer port of the SQL stores: exports every part page by page, and imports pages of another store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, cast

from ...model.events.event import NumberedEvent
from ...model.ids import to_microseconds
from ...model.messages import Message, StreamState
from ...model.page import Page
from ...ports.journal import NumberedLine
from ...ports.records import Record
from ...ports.store import Node
from ...ports.transfer import (
    EVENT_MARK,
    TOKEN_MARK,
    BlockedOwner,
    CounterValue,
    HighWaterMark,
    LaneLimit,
    MetadataItem,
    Part,
    TransferItem,
    require_type,
)
from ..codec.json_codecs import replace_lone_surrogates
from ..codec.message_rows import decode_stream_with_id, encode_message
from ..codec.rows import Row, encode_event, encode_node, encode_record
from ..codec.transfer_rows import PART_ROWS, RUNS_BY_OCCURRENCE, PartRows
from ..messages import LockedStream, read_state
from ..transfer_pages import ReadableStore, decode_position, encode_position, make_marks_page, make_page, read_page
from .claims.lane_rates import export_lane, import_rate
from .connection import Statements
from .feed import SQLFeed
from .import_tasks import import_chain_rows, import_runs, import_tasks, replace_nul
from .message_access import SQLMessageAccess

_PAGE_STATEMENTS: Final = {
    Part.METADATA: "metadata_page",
    Part.RECORDS: "all_records_page",
    Part.BLOCKED_OWNERS: "blocked_owners_page",
    Part.COUNTERS: "counters_page",
    Part.CHAINS: "chain_rows_page",
    Part.RUNS: "ended_runs_page",
    Part.LINES: "all_lines_page",
    Part.MESSAGES: "messages_transfer_page",
}


class SQLTransfer(SQLFeed):
    _ended_run_rows: PartRows = RUNS_BY_OCCURRENCE

    async def count_parts(self) -> dict[Part, int]:
        await self._number_events()
        (row,) = await self._database.read(lambda connection: connection.query("count_parts"), extent="all")
        return dict(zip(Part, row, strict=True))

    async def export_page(self, part: Part, after: str | None = None, limit: int = 500) -> Page[TransferItem]:
        if part is Part.MARKS:
            await self._number_events()
            ((token, event),) = await self._database.query("marks")
            return make_marks_page(token, event, after, limit)
        if part is Part.STREAMS:
            return await self._database.read(lambda connection: _read_streams(connection, after, limit))
        if part is Part.LANES:
            return await self._database.read(lambda connection: _read_lanes(connection, after, limit))
        if part not in _PAGE_STATEMENTS:
            return await read_page(cast("ReadableStore", self), part, after, limit)
        part_rows = self._ended_run_rows if part is Part.RUNS else PART_ROWS[part]
        return await self._database.fetch(
            lambda rows: _build_page(part_rows, rows, limit),
            _PAGE_STATEMENTS[part],
            *part_rows.start_after(after),
            limit,
        )

    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        items = tuple(parcels)
        if not items:
            return
        await self._database.transact(lambda connection: _IMPORTERS[part](connection, items), urgent=False)


async def _read_lanes(connection: Statements, after: str | None, limit: int) -> Page[TransferItem]:
    rows = await connection.query("limits_page", after or "", limit)
    lanes = [await export_lane(connection, row) for row in rows]
    return make_page(lanes, limit, lambda lane: lane.name)


def _build_page(part_rows: PartRows, rows: list[Row], limit: int) -> Page[TransferItem]:
    items, cursor = part_rows.build_page(rows, limit)
    return Page(tuple(item for item in items if not _is_zero_counter(item)), cursor)


def _is_zero_counter(item: TransferItem) -> bool:
    """Whether this is a counter with the value zero."""
    return isinstance(item, CounterValue) and not item.number


_RAISE_STATEMENTS: Final = {TOKEN_MARK: "raise_token", EVENT_MARK: "raise_event_number"}


async def _import_marks(connection: Statements, items: Sequence[TransferItem]) -> None:
    for name, number in require_type(HighWaterMark, items):
        if name in _RAISE_STATEMENTS:
            await connection.query(_RAISE_STATEMENTS[name], number)


async def _import_metadata(connection: Statements, items: Sequence[TransferItem]) -> None:
    for metadata in require_type(MetadataItem, items):
        await connection.query("write_metadata", *metadata)


async def _import_records(connection: Statements, items: Sequence[TransferItem]) -> None:
    for record in require_type(Record, items):
        await connection.query("put_record", *encode_record(record))


async def _import_lanes(connection: Statements, items: Sequence[TransferItem]) -> None:
    for lane in require_type(LaneLimit, items):
        await connection.query("set_lane", lane.name, lane.limit)
        await import_rate(connection, lane)


async def _import_blocked_owners(connection: Statements, items: Sequence[TransferItem]) -> None:
    for owner, reason in require_type(BlockedOwner, items):
        await connection.query("block_owner", owner, reason.value)


async def _import_nodes(connection: Statements, items: Sequence[TransferItem]) -> None:
    for node in require_type(Node, items):
        await connection.query("join", *encode_node(node))


async def _import_counters(connection: Statements, items: Sequence[TransferItem]) -> None:
    # Counter deltas that are not summed up yet would be added on top later.
    await connection.query("sum_counter_deltas")
    await connection.write_rows(
        "replace_counters", 4, [value for counter in require_type(CounterValue, items) for value in counter]
    )


async def _import_lines(connection: Statements, items: Sequence[TransferItem]) -> None:
    values: list[Any] = []
    for number, (run_id, at, level, text) in require_type(NumberedLine, items):
        values += (run_id, number, to_microseconds(at), level, replace_lone_surrogates(text))
    await connection.write_rows("import_lines", 5, replace_nul(connection, values))


async def _import_events(connection: Statements, items: Sequence[TransferItem]) -> None:
    values: list[Any] = []
    for number, event in require_type(NumberedEvent, items):
        values += (number, *encode_event(event))
    await connection.write_rows("import_events", 7, replace_nul(connection, values))


async def _read_streams(connection: Statements, after: str | None, limit: int) -> Page[TransferItem]:
    rows = await connection.query("streams_transfer_page", *decode_position(after, (0,)), limit)
    streams = list(map(decode_stream_with_id, rows))
    access = SQLMessageAccess(connection)
    states = [await read_state(access, LockedStream(*each)) for each in streams]
    last = max((stream_id for stream_id, _ in streams), default=0)
    return Page(tuple(states), encode_position(last) if len(rows) == limit else None)


async def _import_streams(connection: Statements, items: Sequence[TransferItem]) -> None:
    access = SQLMessageAccess(connection)
    for stream, cursors, gaps in require_type(StreamState, items):
        locked = await access.lock(stream.owner, stream.name) or await access.create(stream)
        await access.update(LockedStream(locked.id, stream))
        await connection.query("drop_cursors", locked.id)
        for cursor in cursors:
            await access.put_cursor(locked.id, cursor)
        await access.replace_gaps(locked.id, gaps)


async def _import_messages(connection: Statements, items: Sequence[TransferItem]) -> None:
    values: list[Any] = []
    for owner, number, message in require_type(Message, items):
        values += (owner, message.stream, number, *encode_message(message))
    await connection.write_rows("import_messages", 10, values)


_IMPORTERS: Final[dict[Part, Callable[[Statements, Sequence[TransferItem]], Awaitable[None]]]] = {
    Part.MARKS: _import_marks,
    Part.METADATA: _import_metadata,
    Part.RECORDS: _import_records,
    Part.LANES: _import_lanes,
    Part.BLOCKED_OWNERS: _import_blocked_owners,
    Part.NODES: _import_nodes,
    Part.COUNTERS: _import_counters,
    Part.TASKS: import_tasks,
    Part.CHAINS: import_chain_rows,
    Part.RUNS: import_runs,
    Part.LINES: _import_lines,
    Part.EVENTS: _import_events,
    Part.STREAMS: _import_streams,
    Part.MESSAGES: _import_messages,
}
