"""Transfer port of the SQL stores: exports every part page by page, and imports pages of another store."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, cast

from ...errors import StoreError
from ...model.events.event import NumberedEvent
from ...model.ids import to_microseconds
from ...model.page import Page
from ...model.reason import Reason
from ...model.run import Run
from ...ports.journal import Line, NumberedLine
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
from ..codec.json_codecs import instant_of, replace_lone_surrogates
from ..codec.rows import (
    RUN_WIDTH,
    Row,
    decode_record,
    decode_run,
    encode_event,
    encode_node,
    encode_record,
)
from ..transfer_pages import ReadableStore, decode_position, encode_position, make_marks_page, read_page
from .connection import Statements
from .feed import SQLFeed

_EARLIEST: Final = -(2**63)


class PartQuery(NamedTuple):
    """How a part is exported: the page statement, the row decoder, the key columns, and a key before all keys."""

    statement: str
    decode_row: Callable[[Row], TransferItem]
    key: tuple[int, ...]
    beginning: tuple[Any, ...]


_PART_QUERIES: Final[dict[Part, PartQuery]] = {
    Part.METADATA: PartQuery("metadata_page", lambda row: MetadataItem(*row), (0,), ("",)),
    Part.RECORDS: PartQuery("all_records_page", decode_record, (0, 1), ("", "")),
    Part.LANES: PartQuery("limits_page", lambda row: LaneLimit(*row), (0,), ("",)),
    Part.BLOCKED_OWNERS: PartQuery(
        "blocked_owners_page", lambda row: BlockedOwner(row[0], Reason(row[1])), (0,), ("",)
    ),
    Part.COUNTERS: PartQuery("counters_page", lambda row: CounterValue(*row), (1, 0, 2), (_EARLIEST, "", "")),
    Part.RUNS: PartQuery(
        "ended_runs_page", lambda row: decode_run(row, row[RUN_WIDTH]), (2, 5, 7, 4), (_EARLIEST, _EARLIEST, 0, "")
    ),
    Part.LINES: PartQuery(
        "all_lines_page",
        lambda row: NumberedLine(row[0], Line(row[1], instant_of[row[2]], row[3], row[4])),
        (1, 0),
        ("", 0),
    ),
}


class SQLTransfer(SQLFeed):
    _runs_query = _PART_QUERIES[Part.RUNS]

    async def count_parts(self) -> dict[Part, int]:
        await self._number_events()
        (row,) = await self._database.read(lambda connection: connection.query("count_parts"), is_long=True)
        return dict(zip(Part, row, strict=True))

    async def export_page(self, part: Part, after: str | None = None, limit: int = 500) -> Page[TransferItem]:
        if part is Part.MARKS:
            await self._number_events()
            ((token, event),) = await self._database.query("marks")
            return make_marks_page(token, event, after, limit)
        if part not in _PART_QUERIES:
            return await read_page(cast("ReadableStore", self), part, after, limit)
        part_query = self._runs_query if part is Part.RUNS else _PART_QUERIES[part]
        key = decode_position(after, part_query.beginning)
        return await self._database.fetch(
            lambda rows: _build_page(part_query, rows, limit), part_query.statement, *key, limit
        )

    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        items = tuple(parcels)
        if not items:
            return
        if part is Part.TASKS:
            await self._import_tasks(items)
        elif part is Part.RUNS:
            await self._import_runs(items)
        else:
            await self._database.transact(lambda connection: _IMPORTERS[part](connection, items), urgent=False)

    @abstractmethod
    async def _import_tasks(self, items: Sequence[TransferItem]) -> None:
        """Write tasks with their entries and live runs, in place of those that exist."""

    @abstractmethod
    async def _import_runs(self, items: Sequence[TransferItem]) -> None:
        """Write ended runs; those that exist are not changed."""


def _build_page(query: PartQuery, rows: list[Row], limit: int) -> Page[TransferItem]:
    cursor = encode_position(*(rows[-1][column] for column in query.key)) if len(rows) == limit else None
    return Page(tuple(item for item in map(query.decode_row, rows) if not _is_zero_counter(item)), cursor)


def _is_zero_counter(item: TransferItem) -> bool:
    """Whether this is a counter with the value zero."""
    return isinstance(item, CounterValue) and not item.number


_RAISE_STATEMENTS: Final = {TOKEN_MARK: "raise_token", EVENT_MARK: "raise_event_number"}
_NUL: Final = "\0"
_REPLACEMENT: Final = "\ufffd"


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


async def find_existing(connection: Statements, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Map the ids of existing tasks to number and version."""
    rows = await connection.query("versions_by_id", list(dict.fromkeys(ids)))
    return {task_id: (number, version) for task_id, number, version in rows}


async def find_tasks_of_runs(connection: Statements, items: Sequence[TransferItem]) -> list[tuple[int, Run]]:
    """Return imported runs with the numbers of their tasks; raises StoreError if a task does not exist."""
    runs = require_type(Run, items)
    existing = await find_existing(connection, [run.task_id for run in runs])
    for run in runs:
        if run.task_id not in existing:
            raise StoreError(f"The run {run.id} belongs to {run.task_id}, which is not there; nothing was written.")
    return [(existing[run.task_id][0], run) for run in runs]


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


def replace_nul(connection: Statements, values: list[Any]) -> list[Any]:
    """Replace NUL characters, unless texts may contain them: SQLite can store them, database servers cannot."""
    if connection.stores_nul:
        return values
    return [
        value.replace(_NUL, _REPLACEMENT) if isinstance(value, str) and _NUL in value else value for value in values
    ]


_IMPORTERS: Final[dict[Part, Callable[[Statements, Sequence[TransferItem]], Awaitable[None]]]] = {
    Part.MARKS: _import_marks,
    Part.METADATA: _import_metadata,
    Part.RECORDS: _import_records,
    Part.LANES: _import_lanes,
    Part.BLOCKED_OWNERS: _import_blocked_owners,
    Part.NODES: _import_nodes,
    Part.COUNTERS: _import_counters,
    Part.LINES: _import_lines,
    Part.EVENTS: _import_events,
}
