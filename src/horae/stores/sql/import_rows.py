"""Parcels of another store are written as they are; what is written twice is the same as once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from ...errors import StoreError
from ...model.change import Facts
from ...model.events.event import Numbered
from ...model.ids import microseconds
from ...model.run import Run
from ...ports.journal import NumberedLine
from ...ports.records import Record
from ...ports.store import Node
from ...ports.transfer import EVENT_MARK, TOKEN_MARK, Barred, LaneLimit, Mark, Parcel, Part, Remembered, Tally, only
from ..codec.json_codecs import printable
from ..codec.rows import (
    entry_values,
    event_values,
    node_values,
    record_values,
    run_values,
    standing_values,
    task_values,
)
from .connection import AlreadyMadeError, Link
from .row_batches import RUN_COLUMNS, Sheets

_RAISED_BY: Final = {TOKEN_MARK: "raise_token", EVENT_MARK: "raise_event_number"}
_NO_CHARACTER: Final = "\0"
_INSTEAD: Final = "\ufffd"


async def arrive(link: Link, part: Part, parcels: Sequence[Parcel]) -> None:
    await _INTO[part](link, parcels)


async def _marks(link: Link, parcels: Sequence[Parcel]) -> None:
    for name, number in only(Mark, parcels):
        if name in _RAISED_BY:
            await link.query(_RAISED_BY[name], number)


async def _remembered(link: Link, parcels: Sequence[Parcel]) -> None:
    for fact in only(Remembered, parcels):
        await link.query("remember", *fact)


async def _records(link: Link, parcels: Sequence[Parcel]) -> None:
    for record in only(Record, parcels):
        await link.query("put_record", *record_values(record))


async def _lanes(link: Link, parcels: Sequence[Parcel]) -> None:
    for lane in only(LaneLimit, parcels):
        await link.query("set_lane", *lane)


async def _barred(link: Link, parcels: Sequence[Parcel]) -> None:
    for owner, reason in only(Barred, parcels):
        await link.query("bar", owner, reason.value)


async def _nodes(link: Link, parcels: Sequence[Parcel]) -> None:
    for node in only(Node, parcels):
        await link.query("join", *node_values(node))


async def _tallies(link: Link, parcels: Sequence[Parcel]) -> None:
    # What was counted and not summed up yet would come on top.
    await link.query("fold_counts")
    await link.write_rows("put_tallies", 4, [value for tally in only(Tally, parcels) for value in tally])


async def _tasks(link: Link, parcels: Sequence[Parcel]) -> None:
    given = only(Facts, parcels)
    known = await _known(link, [facts.task.id for facts in given])
    if known:
        await link.query("make_room", [number for number, _ in known.values()])
    unknown = [facts.task.id for facts in given if facts.task.id not in known]
    numbers = await link.query("task_numbers", len(unknown)) if unknown else []
    known.update((task_id, (number, 0)) for task_id, (number,) in zip(unknown, numbers, strict=True))
    sheets = Sheets()
    for facts in given:
        _note(sheets, *known[facts.task.id], facts)
    try:
        await sheets.write(link)
    except AlreadyMadeError as error:
        raise StoreError("A run that goes on there has ended here; nothing was written.") from error


def _note(sheets: Sheets, number: int, version: int, facts: Facts) -> None:
    sheets.new_tasks += (number, *task_values(facts.task))
    sheets.new_standings += standing_values(number, version + 1, facts.standing)[:-1]
    for entry in facts.entries:
        sheets.entries[number, entry.slot] = entry_values(number, entry)
    for run in facts.live:
        sheets.bear(number, run)


async def _known(link: Link, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The number and the version of those tasks that are there."""
    rows = await link.query("versions_by_id", list(dict.fromkeys(ids)))
    return {task_id: (number, version) for task_id, number, version in rows}


async def _runs(link: Link, parcels: Sequence[Parcel]) -> None:
    given = only(Run, parcels)
    known = await _known(link, [run.task_id for run in given])
    values: list[Any] = []
    for run in given:
        if run.task_id not in known:
            raise StoreError(f"The run {run.id} belongs to {run.task_id}, which is not there; nothing was written.")
        values += run_values(known[run.task_id][0], run)
    await link.write_rows("carry_in_runs", RUN_COLUMNS, _storable(values))


async def _lines(link: Link, parcels: Sequence[Parcel]) -> None:
    values: list[Any] = []
    for number, (run_id, at, level, text) in only(NumberedLine, parcels):
        values += (run_id, number, microseconds(at), level, printable(text))
    await link.write_rows("carry_in_lines", 5, _storable(values))


async def _events(link: Link, parcels: Sequence[Parcel]) -> None:
    values: list[Any] = []
    for number, event in only(Numbered, parcels):
        values += (number, *event_values(event))
    await link.write_rows("carry_in_events", 7, _storable(values))


def _storable(values: list[Any]) -> list[Any]:
    """A file can hold the character that is none, and what was said may have it; servers cannot."""
    return [
        value.replace(_NO_CHARACTER, _INSTEAD) if isinstance(value, str) and _NO_CHARACTER in value else value
        for value in values
    ]


_INTO: Final[dict[Part, Callable[[Link, Sequence[Parcel]], Awaitable[None]]]] = {
    Part.MARKS: _marks,
    Part.REMEMBERED: _remembered,
    Part.RECORDS: _records,
    Part.LANES: _lanes,
    Part.BARRED: _barred,
    Part.NODES: _nodes,
    Part.TALLIES: _tallies,
    Part.TASKS: _tasks,
    Part.RUNS: _runs,
    Part.LINES: _lines,
    Part.EVENTS: _events,
}
