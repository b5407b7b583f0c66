"""The way out of the store in memory, and into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, cast

from ...errors import StoreError
from ...model.change import Facts
from ...model.events.event import Numbered
from ...model.page import Page
from ...model.run import Run
from ...ports.journal import NumberedLine
from ...ports.records import Record
from ...ports.store import Node
from ...ports.transfer import EVENT_MARK, TOKEN_MARK, Barred, LaneLimit, Mark, Parcel, Part, Remembered, Tally, only
from ..transfer_pages import Readable, page_of, place, place_in, read_parcels
from .data import Data
from .entries import key_of


class MemoryMoving:
    _data: Data

    async def stock(self) -> dict[Part, int]:
        data = self._data
        with data.lock:
            counted = {part: len(list(_told(data, part))) for part in _TOLD}
            ended = sum(not run.live for run in data.runs)
            read = {Part.NODES: len(data.nodes), Part.TASKS: len(data.tasks), Part.EVENTS: len(data.events)}
            return counted | read | {Part.RUNS: ended}

    async def carry_out(self, part: Part, after: str | None = None, limit: int = 500) -> Page[Parcel]:
        if part not in _TOLD:
            return await read_parcels(cast("Readable", self), part, after, limit)
        with self._data.lock:
            rest = [each for each in _told(self._data, part) if after is None or _key(each) > place_in(after, ())]
            return page_of(rest, limit, lambda parcel: place(*_key(parcel)))

    async def carry_in(self, part: Part, parcels: Sequence[Parcel]) -> None:
        given = tuple(parcels)
        with self._data.writing():
            _INTO[part](self._data, given)


# --- out -----------------------------------------------------------------------------------------------------------

_TOLD: Final = frozenset({Part.MARKS, Part.REMEMBERED, Part.RECORDS, Part.LANES, Part.BARRED, Part.TALLIES, Part.LINES})


def _told(data: Data, part: Part) -> list[Parcel]:
    """All that no other question tells, in order of its keys."""
    return sorted(_found(data, part), key=_key)


def _found(data: Data, part: Part) -> Iterator[Parcel]:
    match part:
        case Part.MARKS:
            yield from (Mark(*mark) for mark in ((TOKEN_MARK, data.token), (EVENT_MARK, data.events.last)) if mark[1])
        case Part.REMEMBERED:
            yield from (Remembered(*fact) for fact in data.remembered.items())
        case Part.RECORDS:
            yield from data.records
        case Part.LANES:
            yield from (LaneLimit(name, data.limits[name]) for name in data.limits.all_keys())
        case Part.BARRED:
            yield from (Barred(owner, data.barred[owner]) for owner in data.barred.all_keys())
        case Part.TALLIES:
            counted = ((*key, data.tallies[key]) for key in data.tallies.all_keys())
            yield from (Tally(*each) for each in counted if each[3])
        case _:
            for run_id in data.lines.all_keys():
                yield from (NumberedLine(*each) for each in enumerate(data.lines[run_id], 1))


def _key(parcel: Parcel) -> tuple[Any, ...]:
    match parcel:
        case Record(kind=kind, key=key):
            return kind, key
        case Tally(owner=owner, hour=hour, name=name):
            return hour, owner, name
        case NumberedLine(number=number, line=line):
            return line.run_id, number
        case _:
            return (parcel[0],)


# --- in ------------------------------------------------------------------------------------------------------------


def _marks(data: Data, parcels: Sequence[Parcel]) -> None:
    for name, number in only(Mark, parcels):
        if name == TOKEN_MARK:
            data.token = max(data.token, number)
        elif name == EVENT_MARK:
            data.events.count_from(number)


def _remembered(data: Data, parcels: Sequence[Parcel]) -> None:
    data.remembered.update(only(Remembered, parcels))


def _records(data: Data, parcels: Sequence[Parcel]) -> None:
    for record in only(Record, parcels):
        data.records.write((record.kind, record.key), record)


def _lanes(data: Data, parcels: Sequence[Parcel]) -> None:
    for name, limit in only(LaneLimit, parcels):
        data.limits.write(name, limit)


def _barred(data: Data, parcels: Sequence[Parcel]) -> None:
    for owner, reason in only(Barred, parcels):
        data.barred.write(owner, reason)


def _nodes(data: Data, parcels: Sequence[Parcel]) -> None:
    for node in only(Node, parcels):
        data.nodes.write(node.id, node)


def _tallies(data: Data, parcels: Sequence[Parcel]) -> None:
    for owner, hour, name, number in only(Tally, parcels):
        data.tallies.write((owner, hour, name), number)


def _tasks(data: Data, parcels: Sequence[Parcel]) -> None:
    for facts in only(Facts, parcels):
        _task(data, facts)


def _runs(data: Data, parcels: Sequence[Parcel]) -> None:
    for run in only(Run, parcels):
        if run.task_id not in data.tasks:
            raise StoreError(f"The run {run.id} belongs to {run.task_id}, which is not there; nothing was written.")
        if run.id not in data.runs:
            data.runs.write(run.id, run)


def _lines(data: Data, parcels: Sequence[Parcel]) -> None:
    for number, line in only(NumberedLine, parcels):
        said = data.lines.get(line.run_id) or []
        if number == len(said) + 1:
            # A new list each time, so that it can be taken back.
            data.lines.write(line.run_id, [*said, line])
        elif number > len(said):
            raise StoreError(f"Line {len(said) + 1} of {line.run_id} is missing; nothing was written.")


def _events(data: Data, parcels: Sequence[Parcel]) -> None:
    for told in only(Numbered, parcels):
        data.events.carry_in(told)


def _task(data: Data, facts: Facts) -> None:
    task = facts.task
    holder = None if task.key is None else data.tasks.with_key(task.owner, task.key)
    if holder not in (None, task.id):
        raise StoreError(f"The key {task.key} belongs to another task; nothing was written.")
    for run in data.runs.live(task.id):
        data.runs.write(run.id, None)
    for entry in data.entries.of_task(task.id):
        data.entries.write(key_of(entry), None)
    data.enlist(task.id)
    data.tasks.write(task.id, task)
    data.standings.write(task.id, facts.standing)
    for run in facts.live:
        data.runs.write(run.id, run)
    for entry in facts.entries:
        data.entries.write(key_of(entry), entry)


_INTO: Final[dict[Part, Callable[[Data, Sequence[Parcel]], None]]] = {
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
