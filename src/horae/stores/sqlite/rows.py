"""Between values and rows: the order of the columns is that of sql/columns.sql and sql/changes.sql."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ...model.entry import Entry, EntryKind, Stand
from ...model.event import Event, EventKind, Numbered
from ...model.ids import microseconds
from ...model.reason import Reason
from ...model.run import LIVE, Origin, Run, RunState, Span
from ...model.task import Pause, PauseCause, Standing, Task, TaskState
from .link import Row
from .texts import (
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
STANDING_WIDTH: Final = 13
RUN_WIDTH: Final = 27

STANDS: Final = (Stand.TIMED, Stand.READY, Stand.HELD, Stand.PARKED, Stand.ASLEEP)
TIMED: Final = 0
_STAND_NUMBERS: Final = {stand: number for number, stand in enumerate(STANDS)} | {Stand.READY: TIMED}
"""Only this store makes entries ready; one that is put comes in by its due instant."""
_KINDS: Final = {kind.value: kind for kind in EntryKind}
_ORIGINS: Final = {origin.value: origin for origin in Origin}
_RUN_STATES: Final = {state.value: state for state in RunState}
_TASK_STATES: Final = {state.value: state for state in TaskState}
_EVENT_KINDS: Final = {kind.value: kind for kind in EventKind}
REASONS: Final[dict[str | None, Reason | None]] = {None: None, **{reason.value: reason for reason in Reason}}


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
    _, slot, kind, due, planned, owner, priority, stand, origin, attempt, *rest = row[:ENTRY_WIDTH]
    forgiven, deaths, through, first, last, count, waited, in_order, lane, run_id = rest
    return Entry(
        task_id,
        slot,
        _KINDS[kind],
        instants[due],
        instants[planned],
        owner,
        priority,
        STANDS[stand],
        _ORIGINS[origin],
        attempt,
        forgiven,
        deaths,
        _at(through),
        _span(first, last, count),
        bool(waited),
        bool(in_order),
        lane,
        run_id,
    )


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


def standing_from(row: Row) -> Standing:
    _, state, counted, failures, skips_left, last_end, last_result, since, cause, note, until, reason, ended = row
    return Standing(
        _TASK_STATES[state],
        counted,
        failures,
        skips_left,
        _at(last_end),
        last_result,
        None if since is None else Pause(instants[since], PauseCause(cause), note, _at(until)),
        REASONS[reason],
        _at(ended),
    )


def standing_values(task: int, edition: int, standing: Standing) -> Row:
    state, counted, failures, skips_left, last_end, last_result, pause, reason, ended = standing
    since, cause, note, until = (None, None, None, None) if pause is None else pause
    return (
        task,
        edition,
        state,
        counted,
        failures,
        skips_left,
        _number(last_end),
        printable(last_result),
        _number(since),
        cause,
        note,
        _number(until),
        reason,
        _number(ended),
    )


# --- tasks -------------------------------------------------------------------------------------------------------


def task_from(row: Row) -> Task:
    _, task_id, owner, name, schedule, kind, spec, payload, chosen, created, key, lane, marks, version = row
    return Task(
        task_id,
        owner,
        name,
        schedules[schedule],
        targets[kind, spec],
        payload,
        policies[chosen],
        instants[created],
        key,
        lane,
        labels[marks],
        version,
    )


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
    _, run_id, _, owner, origin, planned, due, attempt, state, reason, token, node, claimed, started, *rest = row[
        :RUN_WIDTH
    ]
    ended, deadline, first, last, count, forgiven, deaths, alone, in_order, cancel, names, result, error = rest
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


def born_values(task: int, run: Run) -> Row:
    planned = microseconds(run.planned)
    due = planned if run.due is run.planned else microseconds(run.due)
    return (
        run.id,
        task,
        run.owner,
        run.origin,
        planned,
        due,
        run.attempt,
        int(run.state in LIVE),
        int(not run.id.startswith(name_at(planned))),
        *_changing_values(run),
    )


def moved_values(seq: int, run: Run) -> Row:
    return (int(run.state in LIVE), *_changing_values(run), seq)


def _changing_values(run: Run) -> Row:
    first, last, count = _span_values(run.span)
    return (
        run.state,
        run.reason,
        run.token,
        run.node,
        _number(run.claimed),
        _number(run.started),
        _number(run.ended),
        _number(run.deadline),
        first,
        last,
        count,
        run.forgiven,
        run.deaths,
        int(run.alone),
        int(run.in_order),
        run.cancel,
        encode(run.lanes) if run.lanes else None,
        printable(run.result),
        printable(run.error),
    )


def name_at(planned: int) -> str:
    """How the id of a run begins that is planned for this instant."""
    return f"run_{max(0, planned // 1000):012x}"


# --- events ------------------------------------------------------------------------------------------------------


def event_values(event: Event) -> Row:
    kind, at, owner, task_id, run_id, detail = event
    return kind, numbers[at], owner, task_id, run_id, printable(detail)


def event_from(row: Row) -> Numbered:
    number, kind, at, owner, task_id, run_id, detail = row
    return Numbered(number, Event(_EVENT_KINDS[kind], instants[at], owner, task_id, run_id, detail))
