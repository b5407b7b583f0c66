"""The way out of a store on a server, and into it."""

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
from .event_reader import ServedFeed
from .import_rows import arrive

_EARLIEST: Final = -(2**63)


class _Shelf(NamedTuple):
    """Where a part stands: a page of its rows, what a row is, the columns of its key, and what comes before all keys."""

    statement: str
    parcel: Callable[[Row], Parcel]
    key: tuple[int, ...]
    beginning: tuple[Any, ...]


_SHELVES: Final[dict[Part, _Shelf]] = {
    Part.REMEMBERED: _Shelf("remembered_page", lambda row: Remembered(*row), (0,), ("",)),
    Part.RECORDS: _Shelf("all_records_page", record_from, (0, 1), ("", "")),
    Part.LANES: _Shelf("limits_page", lambda row: LaneLimit(*row), (0,), ("",)),
    Part.BARRED: _Shelf("barred_page", lambda row: Barred(row[0], Reason(row[1])), (0,), ("",)),
    Part.TALLIES: _Shelf("tallies_page", lambda row: Tally(*row), (1, 0, 2), (_EARLIEST, "", "")),
    Part.RUNS: _Shelf(
        "ended_runs_page", lambda row: run_from(row, row[RUN_WIDTH]), (2, 5, 7, 4), (_EARLIEST, _EARLIEST, 0, "")
    ),
    Part.LINES: _Shelf(
        "all_lines_page",
        lambda row: NumberedLine(row[0], Line(row[1], instants[row[2]], row[3], row[4])),
        (1, 0),
        ("", 0),
    ),
}


class ServedMoving(ServedFeed):
    async def stock(self) -> dict[Part, int]:
        await self._number_events()
        (row,) = await self._session.ask("stock")
        return dict(zip(Part, row, strict=True))

    async def carry_out(self, part: Part, after: str | None = None, limit: int = 500) -> Page[Parcel]:
        if part is Part.MARKS:
            await self._number_events()
            ((token, event),) = await self._session.ask("marks")
            return marks_page(token, event, after, limit)
        if part not in _SHELVES:
            return await read_parcels(cast("Readable", self), part, after, limit)
        shelf = _SHELVES[part]
        rows = await self._session.ask(shelf.statement, *place_in(after, shelf.beginning), limit)
        ended = place(*(rows[-1][column] for column in shelf.key)) if len(rows) == limit else None
        return Page(tuple(each for each in map(shelf.parcel, rows) if not _is_nothing(each)), ended)

    async def carry_in(self, part: Part, parcels: Sequence[Parcel]) -> None:
        given = tuple(parcels)
        if given:
            await self._session.transact(lambda link: arrive(link, part, given))


def _is_nothing(parcel: Parcel) -> bool:
    """A count that went up and down again."""
    return isinstance(parcel, Tally) and not parcel.number
