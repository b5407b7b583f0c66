"""Transfer port of the SQL stores: exports every part page by page, and imports pages of another store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, cast

from ...model.events.event import NumberedEvent
from ...model.ids import to_microseconds
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
from ..codec.rows import Row, encode_event, encode_node, encode_record
from ..codec.transfer_rows import PART_ROWS, RUNS_BY_OCCURRENCE, PartRows
from ..transfer_pages import ReadableStore, make_marks_page, read_page
from .connection import Statements
from .feed import SQLFeed
from .import_tasks import import_chain_rows, import_runs, import_tasks, replace_nul

_PAGE_STATEMENTS: Final = {
    Part.METADATA: "metadata_page",
    Part.RECORDS: "all_records_page",
    Part.LANES: "limits_page",
    Part.BLOCKED_OWNERS: "blocked_owners_page",
    Part.COUNTERS: "counters_page",
    Part.CHAINS: "chain_rows_page",
    Part.RUNS: "ended_runs_page",
    Part.LINES: "all_lines_page",
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
        await connection.query("set_lane", *lane)


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
}
