"""Transfer port on a database server: exports every part page by page, and imports pages of another store."""

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
from .event_reader import SQLFeed
from .import_rows import import_rows

_EARLIEST: Final = -(2**63)


class _PartQuery(NamedTuple):
    """How a part is exported: the page statement, the row decoder, the key columns, and a key before all keys."""

    statement: str
    decode_row: Callable[[Row], TransferItem]
    key: tuple[int, ...]
    beginning: tuple[Any, ...]


_PART_QUERIES: Final[dict[Part, _PartQuery]] = {
    Part.METADATA: _PartQuery("metadata_page", lambda row: MetadataItem(*row), (0,), ("",)),
    Part.RECORDS: _PartQuery("all_records_page", decode_record, (0, 1), ("", "")),
    Part.LANES: _PartQuery("limits_page", lambda row: LaneLimit(*row), (0,), ("",)),
    Part.BLOCKED_OWNERS: _PartQuery(
        "blocked_owners_page", lambda row: BlockedOwner(row[0], Reason(row[1])), (0,), ("",)
    ),
    Part.COUNTERS: _PartQuery("counters_page", lambda row: CounterValue(*row), (1, 0, 2), (_EARLIEST, "", "")),
    Part.RUNS: _PartQuery(
        "ended_runs_page", lambda row: decode_run(row, row[RUN_WIDTH]), (2, 5, 7, 4), (_EARLIEST, _EARLIEST, 0, "")
    ),
    Part.LINES: _PartQuery(
        "all_lines_page",
        lambda row: NumberedLine(row[0], Line(row[1], instant_of[row[2]], row[3], row[4])),
        (1, 0),
        ("", 0),
    ),
}


class SQLTransfer(SQLFeed):
    async def count_parts(self) -> dict[Part, int]:
        await self._number_events()
        (row,) = await self._session.query("count_parts")
        return dict(zip(Part, row, strict=True))

    async def export_page(self, part: Part, after: str | None = None, limit: int = 500) -> Page[TransferItem]:
        if part is Part.MARKS:
            await self._number_events()
            ((token, event),) = await self._session.query("marks")
            return make_marks_page(token, event, after, limit)
        if part not in _PART_QUERIES:
            return await read_page(cast("ReadableStore", self), part, after, limit)
        part_query = _PART_QUERIES[part]
        rows = await self._session.query(part_query.statement, *decode_cursor(after, part_query.beginning), limit)
        cursor = encode_cursor(*(rows[-1][column] for column in part_query.key)) if len(rows) == limit else None
        return Page(tuple(each for each in map(part_query.decode_row, rows) if not _is_zero_counter(each)), cursor)

    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        items = tuple(parcels)
        if items:
            await self._session.transact(lambda connection: import_rows(connection, part, items))


def _is_zero_counter(item: TransferItem) -> bool:
    """Whether this is a counter with the value zero."""
    return isinstance(item, CounterValue) and not item.number
