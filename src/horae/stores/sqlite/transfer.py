"""The way out of the store in SQLite, and into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast

from ...model.page import Page
from ...model.reason import Reason
from ...ports.journal import Line, NumberedLine
from ...ports.transfer import Barred, LaneLimit, Parcel, Part, Remembered, Tally
from ..codec.json_codecs import instants
from ..codec.rows import RUN_WIDTH, Row, record_from, run_from
from ..transfer_pages import Readable, marks_page, place, place_in, read_parcels
from .import_rows import arrive
from .readers import Readers
from .statements import sql
from .writer import Writer

_STOCK: Final = sql("stock")
_MARKS: Final = sql("marks")
_EARLIEST: Final = -(2**63)


class _Shelf(NamedTuple):
    """Where a part stands: a page of its rows, what a row is, the columns of its key, and what comes before all keys."""

    statement: str
    parcel: Callable[[Row], Parcel]
    key: tuple[int, ...]
    beginning: tuple[Any, ...]


_SHELVES: Final[dict[Part, _Shelf]] = {
    Part.REMEMBERED: _Shelf(sql("remembered_page"), lambda row: Remembered(*row), (0,), ("",)),
    Part.RECORDS: _Shelf(sql("all_records_page"), record_from, (0, 1), ("", "")),
    Part.LANES: _Shelf(sql("limits_page"), lambda row: LaneLimit(*row), (0,), ("",)),
    Part.BARRED: _Shelf(sql("barred_page"), lambda row: Barred(row[0], Reason(row[1])), (0,), ("",)),
    Part.TALLIES: _Shelf(sql("tallies_page"), lambda row: Tally(*row), (1, 0, 2), (_EARLIEST, "", "")),
    # In the order in which they were born: of one instant there may be a million, and no index tells those apart.
    Part.RUNS: _Shelf(sql("ended_runs_page"), lambda row: run_from(row, row[RUN_WIDTH]), (0,), (_EARLIEST,)),
    Part.LINES: _Shelf(
        sql("all_lines_page"),
        lambda row: NumberedLine(row[0], Line(row[1], instants[row[2]], row[3], row[4])),
        (1, 0),
        ("", 0),
    ),
}


class SQLiteMoving:
    _writer: Writer
    _readers: Readers

    async def stock(self) -> dict[Part, int]:
        (row,) = await self._readers.do_at_length(lambda link: link.query(_STOCK))
        return dict(zip(Part, row, strict=True))

    async def carry_out(self, part: Part, after: str | None = None, limit: int = 500) -> Page[Parcel]:
        if part is Part.MARKS:
            ((token, event),) = await self._readers.ask(_MARKS)
            return marks_page(token, event, after, limit)
        if part not in _SHELVES:
            return await read_parcels(cast("Readable", self), part, after, limit)
        shelf = _SHELVES[part]
        asked_for = (*place_in(after, shelf.beginning), limit)
        return await self._readers.do(lambda link: _page(shelf, link.query(shelf.statement, asked_for), limit))

    async def carry_in(self, part: Part, parcels: Sequence[Parcel]) -> None:
        given = tuple(parcels)
        if given:
            await self._writer.do(lambda link: arrive(link, part, given), urgent=False)


def _page(shelf: _Shelf, rows: list[Row], limit: int) -> Page[Parcel]:
    """On the reader's own thread, values too."""
    ended = place(*(rows[-1][column] for column in shelf.key)) if len(rows) == limit else None
    return Page(tuple(map(shelf.parcel, rows)), ended)
