"""Transfer port of the SQLite store: export by pages, and idempotent import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast

from ...model.page import Page
from ...model.reason import Reason
from ...ports.journal import Line, NumberedLine
from ...ports.transfer import BlockedOwner, CounterValue, LaneLimit, MetadataItem, Part, TransferItem
from ..codec.json_codecs import instant_of
from ..codec.rows import RUN_WIDTH, Row, decode_record, decode_run
from ..transfer_pages import ReadableStore, decode_cursor, encode_cursor, make_marks_page, read_page
from .import_rows import import_rows
from .readers import Readers
from .statements import sql
from .writer import Writer

_COUNT_PARTS: Final = sql("count_parts")
_MARKS: Final = sql("marks")
_EARLIEST: Final = -(2**63)


class _PartQuery(NamedTuple):
    """Keyset pagination of one part: the statement, the row decoder, the key columns, and a key before all others."""

    statement: str
    decode: Callable[[Row], TransferItem]
    key_columns: tuple[int, ...]
    first_key: tuple[Any, ...]


_PART_QUERIES: Final[dict[Part, _PartQuery]] = {
    Part.METADATA: _PartQuery(sql("metadata_page"), lambda row: MetadataItem(*row), (0,), ("",)),
    Part.RECORDS: _PartQuery(sql("all_records_page"), decode_record, (0, 1), ("", "")),
    Part.LANES: _PartQuery(sql("limits_page"), lambda row: LaneLimit(*row), (0,), ("",)),
    Part.BLOCKED_OWNERS: _PartQuery(
        sql("blocked_owners_page"), lambda row: BlockedOwner(row[0], Reason(row[1])), (0,), ("",)
    ),
    Part.COUNTERS: _PartQuery(sql("counters_page"), lambda row: CounterValue(*row), (1, 0, 2), (_EARLIEST, "", "")),
    # By run number: one planned instant may have a million runs, and no index orders those.
    Part.RUNS: _PartQuery(sql("ended_runs_page"), lambda row: decode_run(row, row[RUN_WIDTH]), (0,), (_EARLIEST,)),
    Part.LINES: _PartQuery(
        sql("all_lines_page"),
        lambda row: NumberedLine(row[0], Line(row[1], instant_of[row[2]], row[3], row[4])),
        (1, 0),
        ("", 0),
    ),
}


class SQLiteTransfer:
    _writer: Writer
    _readers: Readers

    async def count_parts(self) -> dict[Part, int]:
        (row,) = await self._readers.run_long(lambda connection: connection.query(_COUNT_PARTS))
        return dict(zip(Part, row, strict=True))

    async def export_page(self, part: Part, after: str | None = None, limit: int = 500) -> Page[TransferItem]:
        if part is Part.MARKS:
            ((token, event),) = await self._readers.query(_MARKS)
            return make_marks_page(token, event, after, limit)
        if part not in _PART_QUERIES:
            return await read_page(cast("ReadableStore", self), part, after, limit)
        query = _PART_QUERIES[part]
        bindings = (*decode_cursor(after, query.first_key), limit)
        return await self._readers.run(
            lambda connection: _build_page(query, connection.query(query.statement, bindings), limit)
        )

    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        rows = tuple(parcels)
        if rows:
            await self._writer.submit(lambda connection: import_rows(connection, part, rows), urgent=False)


def _build_page(query: _PartQuery, rows: list[Row], limit: int) -> Page[TransferItem]:
    """Decode the rows and build the page; runs on the reader thread."""
    cursor = encode_cursor(*(rows[-1][column] for column in query.key_columns)) if len(rows) == limit else None
    return Page(tuple(map(query.decode, rows)), cursor)
