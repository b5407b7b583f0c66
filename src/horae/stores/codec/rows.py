"""Between values and rows: the order of the columns is that of sql/columns.sql and sql/changes.sql of every store in SQL.

This is where a busy store spends its time. Values are made by `tuple.__new__`, which skips the call of a function for
each of them, and what nearly always has its default is compared once instead of being read field by field.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from ...model.entry import Entry, EntryKind, Stand
from ...model.events.event import Event, EventKind, Numbered
from ...model.ids import microseconds
from ...model.reason import Reason
from ...model.run import LIVE, Origin, Run, RunState, Span
from ...model.task import FRESH, Pause, PauseCause, Standing, Task, TaskState
from ...ports.records import Record
from ...ports.store import Node
from .json_codecs import (
    encode,
    instants,
    labels,
    lanes,
    numbers,
    policies,
    policies_text,
    printable,
    schedule_text,
    schedules,
    targets,
)

ENTRY_WIDTH: Final = 20
TASK_WIDTH: Final = 14
RUN_WIDTH: Final = 27

AFTER_ALL_KEYS: Final = "\U0010ffff" * 4
"""Where a list of records begins that goes backwards: the last of all characters is none, and stands in no key."""

new: Final = tuple.__new__
Row: TypeAlias = tuple[Any, ...]

STANDS: Final = (Stand.TIMED, Stand.READY, Stand.HELD, Stand.PARKED, Stand.ASLEEP)
_STAND_NUMBERS: Final = {stand: number for number, stand in enumerate(STANDS)} | {Stand.READY: 0}
"""Only this store makes entries ready; one that is put comes in by its due instant."""
_KINDS: Final = {kind.value: kind for kind in EntryKind}
_ORIGINS: Final = {origin.value: origin for origin in Origin}
_RUN_STATES: Final = {state.value: state for state in RunState}
_TASK_STATES: Final = {state.value: state for state in TaskState}
_EVENT_KINDS: Final = {kind.value: kind for kind in EventKind}
REASONS: Final[dict[str | None, Reason | None]] = {None: None, **{reason.value: reason for reason in Reason}}

_PLAIN_ENTRY_ROW: Final = (0, 0, None, None, None, None, 0, 0, None, None)
_PLAIN_ENTRY: Final = (0, 0, None, None, False, False, None, None)
"""The fields of an entry from `forgiven` on."""
_FRESH_ROW: Final = ("active", 0, 0, 0, *[None] * 8)
PLAIN_RUN: Final = (None, None, None, 0, 0, False, False, None, (), None, None)
"""The fields of a run from `ended` on, when it has just been started."""


def _at(number: int | None) -> datetime | None:
    return None if number is None else instants[number]


def _number(at: datetime | None) -> int | None:
    return None if at is None else numbers[at]


def _span(first: int | None, last: int, count: int) -> Span | None:
    return None if first is None else Span(instants[first], instants[last], count)


def _span_values(span: Span | None) -> Row:
    return (None, None, None) if span is None else (microseconds(span.first), microseconds(span.last), span.count)


# --- entries -----------------------------------------------------------------------------------------------------


def entry_from(row: Row, task_id: str) -> Entry:
    rest = row[10:ENTRY_WIDTH]
    begin = (
        task_id,
        row[1],
        _KINDS[row[2]],
        instants[row[3]],
        instants[row[4]],
        row[5],
        row[6],
        STANDS[row[7]],
        _ORIGINS[row[8]],
        row[9],
    )
    return new(Entry, begin + (_PLAIN_ENTRY if rest == _PLAIN_ENTRY_ROW else _rest_of_entry(rest)))


def _rest_of_entry(row: Row) -> Row:
    forgiven, deaths, through, first, last, count, waited, in_order, lane, run_id = row
    return forgiven, deaths, _at(through), _span(first, last, count), bool(waited), bool(in_order), lane, run_id


def entry_values(task: int, entry: Entry) -> Row:
    due = microseconds(entry.due)
    first, last, count = _span_values(entry.span)
    return (
        task,
        entry.slot,
        entry.kind,
        due,
        due if entry.planned is entry.due else microseconds(entry.planned),
        entry.owner,
        entry.priority,
        _STAND_NUMBERS[entry.stand],
        entry.origin,
        entry.attempt,
        entry.forgiven,
        entry.deaths,
        None if entry.through is None else microseconds(entry.through),
        first,
        last,
        count,
        int(entry.waited),
        int(entry.in_order),
        entry.lane,
        entry.run_id,
    )


# --- standings ---------------------------------------------------------------------------------------------------


def standing_from(row: Row, start: int) -> Standing:
    """From the columns that begin at `start`."""
    columns = row[start : start + 12]
    if columns == _FRESH_ROW:
        return FRESH
    state, counted, failures, skips_left, last_end, last_result, since, cause, note, until, reason, ended = columns
    pause = None if since is None else Pause(instants[since], PauseCause(cause), note, _at(until))
    begin = (_TASK_STATES[state], counted, failures, skips_left, _at(last_end), last_result)
    return new(Standing, (*begin, pause, REASONS[reason], _at(ended)))


def standing_values(task: int, version: int, standing: Standing, live: Sequence[int] = ()) -> Row:
    """`live` are the numbers of the runs that go on."""
    state, counted, failures, skips_left, last_end, last_result, pause, reason, ended = standing
    since = cause = note = until = None
    if pause is not None:
        since, cause, note, until = numbers[pause.since], pause.cause, printable(pause.note), _number(pause.until)
    return (
        task,
        version,
        state,
        counted,
        failures,
        skips_left,
        None if last_end is None else numbers[last_end],
        None if last_result is None else printable(last_result),
        since,
        cause,
        note,
        until,
        reason,
        None if ended is None else numbers[ended],
        ",".join([str(number) for number in live]) if live else None,
    )


# --- tasks -------------------------------------------------------------------------------------------------------


def task_from(row: Row) -> Task:
    _, task_id, owner, name, schedule, kind, spec, payload, chosen, created, key, lane, marks, version = row[
        :TASK_WIDTH
    ]
    begin = (task_id, owner, name, schedules[schedule], targets[kind, spec], payload, policies[chosen])
    return new(Task, (*begin, instants[created], key, lane, labels[marks], version))


def task_values(task: Task) -> Row:
    """All but its number."""
    return (
        task.id,
        task.owner,
        task.name,
        schedule_text(task.schedule),
        task.target.kind,
        task.target.spec,
        task.payload,
        policies_text(task.policies),
        numbers[task.created],
        task.key,
        task.lane,
        encode(task.labels) if task.labels else "[]",
        task.version,
    )


# --- runs --------------------------------------------------------------------------------------------------------


def run_from(row: Row, task_id: str) -> Run:
    _, run_id, _, owner, origin, planned, due, attempt, state, reason, token, node, *rest = row[:RUN_WIDTH]
    claimed, started, ended, deadline, first, last, count, forgiven, deaths, *rest = rest
    alone, in_order, cancel, names, result, error = rest
    return Run(
        run_id,
        task_id,
        owner,
        _ORIGINS[origin],
        instants[planned],
        instants[due],
        attempt,
        _RUN_STATES[state],
        REASONS[reason],
        token,
        node,
        _at(claimed),
        _at(started),
        _at(ended),
        _at(deadline),
        _span(first, last, count),
        forgiven,
        deaths,
        bool(alone),
        bool(in_order),
        REASONS[cancel],
        () if names is None else lanes[names],
        result,
        error,
    )


def plain_birth(seq: int, task: int, run: Run) -> Row | None:
    """The row of a run that has been started and of which there is nothing else to say; None if there is."""
    if run[13:] != PLAIN_RUN:
        return None
    run_id, _, owner, origin, planned, due, attempt, state, reason, token, node, claimed, started = run[:13]
    at = microseconds(planned)
    if reason is not None or state not in LIVE or not tells(run_id, at):
        return None
    return (
        seq,
        run_id,
        task,
        owner,
        origin,
        at,
        at if due is planned else microseconds(due),
        attempt,
        state,
        token,
        node,
        None if claimed is None else numbers[claimed],
        None if started is None else numbers[started],
    )


def birth(seq: int, task: int, run: Run) -> Row:
    planned = microseconds(run.planned)
    identity = (seq, run.id, task, run.owner, run.origin, planned, microseconds(run.due), run.attempt)
    return (*identity, int(run.state in LIVE), int(not tells(run.id, planned)), *_changing_values(run))


def run_values(task: int, run: Run) -> Row:
    """All of a run, and whether its name tells its instant: for stores that keep what goes on apart from the ledger."""
    planned = microseconds(run.planned)
    identity = (run.id, task, run.owner, run.origin, planned, microseconds(run.due), run.attempt)
    return (*identity, *_changing_values(run), int(not tells(run.id, planned)))


def plain_end(seq: int, before: Run, run: Run) -> Row | None:
    """The row of a run that has ended, if all that is new of it is how."""
    if run[7] in LIVE or run[9:12] != before[9:12] or run[15:22] != before[15:22]:
        return None
    started, ended, deadline = run[12:15]
    result, error = run[22:]
    return (
        seq,
        run[7],
        run[8],
        None if started is None else numbers[started],
        None if ended is None else numbers[ended],
        None if deadline is None else microseconds(deadline),
        None if result is None else printable(result),
        None if error is None else printable(error),
    )


def moved_values(seq: int, run: Run) -> Row:
    return (int(run.state in LIVE), *_changing_values(run), seq)


def _changing_values(run: Run) -> Row:
    return (
        run.state,
        run.reason,
        run.token,
        run.node,
        _number(run.claimed),
        _number(run.started),
        _number(run.ended),
        _number(run.deadline),
        *_span_values(run.span),
        run.forgiven,
        run.deaths,
        int(run.alone),
        int(run.in_order),
        run.cancel,
        encode(run.lanes) if run.lanes else None,
        printable(run.result_json),
        printable(run.error),
    )


def tells(run_id: str, planned: int) -> bool:
    """Whether the id of a run begins with the millisecond for which it is planned, as `model.ids` makes them."""
    return run_id[:16] == "run_%012x" % (planned // 1000)


# --- events ------------------------------------------------------------------------------------------------------


def event_values(event: Event) -> Row:
    kind, at, owner, task_id, run_id, detail = event
    return kind, numbers[at], owner, task_id, run_id, None if detail is None else printable(detail)


def event_from(row: Row) -> Numbered:
    number, kind, at, owner, task_id, run_id, detail = row
    return Numbered(number, Event(_EVENT_KINDS[kind], instants[at], owner, task_id, run_id, detail))


# --- nodes -------------------------------------------------------------------------------------------------------


def node_values(node: Node) -> Row:
    return (
        node.id,
        node.home,
        node.version,
        microseconds(node.joined),
        microseconds(node.renewed),
        node.renewals,
        node.host,
        node.load,
        node.capacity,
        span_microseconds(node.offset),
        int(node.draining),
    )


def node_from(row: Sequence[Any]) -> Node:
    name, home, version, joined, renewed, renewals, host, load, capacity, offset, draining = row
    seen = (host, load, capacity, timedelta(microseconds=offset), bool(draining))
    return Node(name, home, version, instants[joined], instants[renewed], renewals, *seen)


def record_values(record: Record) -> Row:
    kind, key, owner, body, version, expires = record
    return kind, key, owner, body, version, expiry(expires)


def record_from(row: Sequence[Any]) -> Record:
    kind, key, owner, body, version, expires = row
    return Record(kind, key, owner, body, version, None if expires is None else instants[expires])


def expiry(expires: datetime | None) -> int | None:
    return None if expires is None else microseconds(expires)


def span_microseconds(span: timedelta) -> int:
    return span // timedelta(microseconds=1)
