"""Parcels of another store are written as they are; what is written twice is the same as once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from ..codec.rows import birth, entry_values, event_values, node_values, record_values, standing_values, task_values
from .connection import Link
from .lane_state import named
from .load_facts import these
from .row_batches import Sheets
from .statements import Bulk, sql

_RAISE_TOKEN: Final = sql("raise_token")
_FIRST_EVENT_NUMBER: Final = sql("first_event_number")
_RAISE_EVENT_NUMBER: Final = sql("raise_event_number")
_REMEMBER: Final = sql("remember")
_REPLACE_RECORD: Final = sql("replace_record")
_SET_LANE: Final = sql("set_lane")
_BAR: Final = sql("bar")
_JOIN: Final = sql("join")
_REPLACE_TALLY: Final = sql("replace_tally")
_NUMBERS: Final = sql("numbers_by_id")
_LAST_TASK: Final = sql("last_task")
_LAST_RUN: Final = sql("last_run")
_REPLACED: Final = tuple(
    sql(name) for name in ("leave_all_seats", "drop_live_runs", "empty_agendas", "drop_definitions")
)
_RUNS: Final = Bulk("carry_in_runs", 29)
_LINES: Final = Bulk("carry_in_lines", 5)
_EVENTS: Final = Bulk("carry_in_events", 7)


def arrive(link: Link, part: Part, parcels: Sequence[Parcel]) -> None:
    _INTO[part](link, parcels)


def _marks(link: Link, parcels: Sequence[Parcel]) -> None:
    for name, number in only(Mark, parcels):
        if name == TOKEN_MARK:
            link.query(_RAISE_TOKEN, (number,))
        elif name == EVENT_MARK:
            link.query(_FIRST_EVENT_NUMBER, (number,))
            link.query(_RAISE_EVENT_NUMBER, (number,))


def _tasks(link: Link, parcels: Sequence[Parcel]) -> None:
    given = only(Facts, parcels)
    known = _known(link, [facts.task.id for facts in given])
    if known:
        # The last of the four takes the tasks themselves: they come back at once, under the same numbers.
        for statement in _REPLACED:
            link.query(statement, (these([number for number, _ in known.values()]),))
    ((last_run,),) = link.query(_LAST_RUN)
    last_task = max((row[0] for row in link.query(_LAST_TASK)), default=0)
    sheets = Sheets()
    for facts in given:
        if facts.task.id not in known:
            last_task += 1
            known[facts.task.id] = last_task, 0
        number, version = known[facts.task.id]
        _note_task(sheets, number, version + 1, facts, range(last_run + 1, last_run + 1 + len(facts.live)))
        last_run += len(facts.live)
    sheets.write(link)


def _note_task(sheets: Sheets, number: int, version: int, facts: Facts, seqs: range) -> None:
    sheets.new_tasks += (number, *task_values(facts.task))
    sheets.standings += standing_values(number, version, facts.standing, seqs)
    for entry in facts.entries:
        sheets.put += entry_values(number, entry)
    for seq, run in zip(seqs, facts.live, strict=True):
        sheets.born += birth(seq, number, run)
        for lane in run.lanes:
            sheets.taken += (lane, run.id)


def _known(link: Link, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The number and the version of those tasks that are there."""
    rows = link.query(_NUMBERS, (named(list(dict.fromkeys(ids))),))
    return {task_id: (number, version) for task_id, number, version in rows}


def _runs(link: Link, parcels: Sequence[Parcel]) -> None:
    given = only(Run, parcels)
    known = _known(link, [run.task_id for run in given])
    ((seq,),) = link.query(_LAST_RUN)
    values: list[Any] = []
    for run in given:
        if run.task_id not in known:
            raise StoreError(f"The run {run.id} belongs to {run.task_id}, which is not there; nothing was written.")
        seq += 1
        values += birth(seq, known[run.task_id][0], run)
    link.write_rows(_RUNS, values)


def _lines(link: Link, parcels: Sequence[Parcel]) -> None:
    values: list[Any] = []
    for number, (run_id, at, level, text) in only(NumberedLine, parcels):
        values += (run_id, number, microseconds(at), level, printable(text))
    link.write_rows(_LINES, values)


def _events(link: Link, parcels: Sequence[Parcel]) -> None:
    values: list[Any] = []
    for number, event in only(Numbered, parcels):
        values += (number, *event_values(event))
    link.write_rows(_EVENTS, values)


_INTO: Final[dict[Part, Callable[[Link, Sequence[Parcel]], None]]] = {
    Part.MARKS: _marks,
    Part.REMEMBERED: lambda link, parcels: link.write_each(_REMEMBER, only(Remembered, parcels)),
    Part.RECORDS: lambda link, parcels: link.write_each(
        _REPLACE_RECORD, [record_values(record) for record in only(Record, parcels)]
    ),
    Part.LANES: lambda link, parcels: link.write_each(_SET_LANE, only(LaneLimit, parcels)),
    Part.BARRED: lambda link, parcels: link.write_each(_BAR, only(Barred, parcels)),
    Part.NODES: lambda link, parcels: link.write_each(_JOIN, [node_values(node) for node in only(Node, parcels)]),
    Part.TALLIES: lambda link, parcels: link.write_each(_REPLACE_TALLY, only(Tally, parcels)),
    Part.TASKS: _tasks,
    Part.RUNS: _runs,
    Part.LINES: _lines,
    Part.EVENTS: _events,
}
