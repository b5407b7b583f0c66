"""Codec between model values and SQL rows, in the column order of sql/columns.sql and sql/changes.sql of every SQL store.

Hot path of a busy store: values are made with `tuple.__new__`, which saves a function call each, and groups of fields
that nearly always have their defaults are compared once instead of being read one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final, TypeAlias

from ...model.chain_row import Arrival, ChainRow, ChainState
from ...model.change import Success
from ...model.entry import CLAIMABLE, Entry, EntryKind, EntryState
from ...model.events.event import Event, EventKind, NumberedEvent
from ...model.ids import to_microseconds
from ...model.inputs.placeholders import PREFIX, recognise_template
from ...model.inputs.run_input import RunInput, parse_input
from ...model.lanes.route import is_queue
from ...model.origin import RootOccurrence
from ...model.reason import Reason
from ...model.run import Origin, Run, RunState, Span
from ...model.task import NEW_TASK_STATUS, Pause, PauseCause, Task, TaskState, TaskStatus
from ...ports.records import Record
from ...ports.store import Node
from .json_codecs import (
    chain_places,
    decode,
    encode,
    encode_chain_place,
    instant_of,
    labels,
    lanes,
    microseconds_of,
    policies,
    policies_text,
    replace_lone_surrogates,
    schedule_text,
    schedules,
    targets,
)

ENTRY_WIDTH: Final = 22
TASK_WIDTH: Final = 15
RUN_WIDTH: Final = 29
CHAIN_ROW_WIDTH: Final = 8

AFTER_ALL_KEYS: Final = "\U0010ffff" * 4
"""Cursor at the start of a descending list of records: U+10FFFF is a noncharacter and occurs in no key."""

new_tuple: Final = tuple.__new__
Row: TypeAlias = tuple[Any, ...]

ENTRY_STATES: Final = (
    EntryState.TIMED,
    EntryState.READY,
    EntryState.HELD,
    EntryState.PARKED,
    EntryState.ASLEEP,
    EntryState.TIMED,
)
_ENTRY_STATE_NUMBERS: Final = {state: number for number, state in enumerate(ENTRY_STATES[:5])} | {EntryState.READY: 0}
"""An entry is written as timed, never as ready: only the store itself moves entries to its ready queue."""
_QUEUED: Final = 5
"""State of a timed entry in the queue of a route: claims of nodes that do not serve the route must not read it."""
_KINDS: Final = {kind.value: kind for kind in EntryKind}
_ORIGINS: Final = {origin.value: origin for origin in Origin}
_RUN_STATES: Final = {state.value: state for state in RunState}
_TASK_STATES: Final = {state.value: state for state in TaskState}
_EVENT_KINDS: Final = {kind.value: kind for kind in EventKind}
REASONS: Final[dict[str | None, Reason | None]] = {None: None, **{reason.value: reason for reason in Reason}}

_PLAIN_ENTRY_COLUMNS: Final = (0, 0, None, None, None, None, 0, 0, None, None, None, None)
_PLAIN_ENTRY_FIELDS: Final = (0, 0, None, None, False, False, None, None, None, None, 0)
"""Default fields of an entry from `forgiven` on."""
_FRESH_STATUS_COLUMNS: Final = ("active", 0, 0, 0, *[None] * 8)


def _instant_or_none(number: int | None) -> datetime | None:
    return None if number is None else instant_of[number]


def _microseconds_or_none(at: datetime | None) -> int | None:
    return None if at is None else microseconds_of[at]


def _decode_span(first: int | None, last: int, count: int) -> Span | None:
    return None if first is None else Span(instant_of[first], instant_of[last], count)


def _decode_input(text: str | None) -> RunInput | None:
    return None if text is None else parse_input(text)


def _encode_span(span: Span | None) -> Row:
    return (None, None, None) if span is None else (to_microseconds(span.first), to_microseconds(span.last), span.count)


# --- entries -----------------------------------------------------------------------------------------------------


def decode_entry(row: Row, task_id: str) -> Entry:
    rest = row[10:ENTRY_WIDTH]
    first_fields = (
        task_id,
        row[1],
        _KINDS[row[2]],
        instant_of[row[3]],
        instant_of[row[4]],
        row[5],
        row[6],
        ENTRY_STATES[row[7]],
        _ORIGINS[row[8]],
        row[9],
    )
    return new_tuple(
        Entry, first_fields + (_PLAIN_ENTRY_FIELDS if rest == _PLAIN_ENTRY_COLUMNS else _decode_entry_details(rest))
    )


def _decode_entry_details(row: Row) -> Row:
    forgiven, deaths, through, first, last, count, waited, in_order, lane, run_id, given, chain = row
    return (
        forgiven,
        deaths,
        _instant_or_none(through),
        _decode_span(first, last, count),
        bool(waited & 1),
        bool(in_order),
        lane,
        run_id,
        _decode_input(given),
        None if chain is None else chain_places[chain],
        waited >> 1,
    )


def encode_entry(task: int, entry: Entry) -> Row:
    due = to_microseconds(entry.due)
    first, last, count = _encode_span(entry.span)
    return (
        task,
        entry.slot,
        entry.kind,
        due,
        due if entry.planned is entry.due else to_microseconds(entry.planned),
        entry.owner,
        entry.priority,
        _ENTRY_STATE_NUMBERS[entry.state] if entry.lane is None else _state_number(entry),
        entry.origin,
        entry.attempt,
        entry.forgiven,
        entry.deaths,
        None if entry.through is None else to_microseconds(entry.through),
        first,
        last,
        count,
        entry.waited | entry.reparks << 1,
        int(entry.in_order),
        entry.lane,
        entry.run_id,
        None if entry.input is None else entry.input.text,
        None if entry.chain is None else encode_chain_place(entry.chain),
    )


def _state_number(entry: Entry) -> int:
    return _QUEUED if entry.state in CLAIMABLE and is_queue(entry.lane) else _ENTRY_STATE_NUMBERS[entry.state]


# --- task status -------------------------------------------------------------------------------------------------


def decode_status(row: Row, start: int) -> TaskStatus:
    """Decode a task's status from the columns that begin at index `start`."""
    columns = row[start : start + 12]
    if columns == _FRESH_STATUS_COLUMNS:
        return NEW_TASK_STATUS
    state, counted, failures, skips_left, last_end, last_result, since, cause, note, until, reason, ended = columns
    pause = None if since is None else Pause(instant_of[since], PauseCause(cause), note, _instant_or_none(until))
    first_fields = (_TASK_STATES[state], counted, failures, skips_left, _instant_or_none(last_end), last_result)
    return new_tuple(TaskStatus, (*first_fields, pause, REASONS[reason], _instant_or_none(ended)))


def encode_status(task: int, version: int, status: TaskStatus) -> Row:
    state, counted, failures, skips_left, last_end, last_result, pause, reason, ended = status
    since = cause = note = until = None
    if pause is not None:
        since, cause, note, until = (
            microseconds_of[pause.since],
            pause.cause,
            replace_lone_surrogates(pause.note),
            _microseconds_or_none(pause.until),
        )
    return (
        task,
        version,
        state,
        counted,
        failures,
        skips_left,
        None if last_end is None else to_microseconds(last_end),
        None if last_result is None else replace_lone_surrogates(last_result),
        since,
        cause,
        note,
        until,
        reason,
        None if ended is None else to_microseconds(ended),
    )


# --- tasks -------------------------------------------------------------------------------------------------------


def decode_task(row: Row) -> Task:
    (
        _, task_id, owner, name, schedule, kind, spec, payload, policies_json, created, key, lane, labels_json, version,
        successors,
    ) = row[:TASK_WIDTH]  # fmt: skip
    task = new_tuple(
        Task,
        (
            task_id,
            owner,
            name,
            schedules[schedule],
            targets[kind, spec],
            payload,
            policies[policies_json],
            instant_of[created],
            key,
            lane,
            labels[labels_json],
            version,
            lanes[successors] if successors else (),
        ),
    )
    return recognise_template(task) if PREFIX in payload or PREFIX in spec else task


def encode_task(task: Task) -> Row:
    """Encode a task, without its number."""
    return (
        task.id,
        task.owner,
        task.name,
        schedule_text(task.schedule),
        task.target.kind,
        task.target.spec,
        task.payload,
        policies_text(task.policies),
        microseconds_of[task.created],
        task.key,
        task.lane,
        encode(task.labels) if task.labels else "[]",
        task.version,
        encode(task.successors) if task.successors else None,
    )


# --- runs --------------------------------------------------------------------------------------------------------


def decode_run(row: Row, task_id: str) -> Run:
    _, run_id, _, owner, origin, planned, due, attempt, state, reason, token, node, *rest = row[:RUN_WIDTH]
    claimed, started, ended, deadline, first, last, count, forgiven, deaths, *rest = rest
    alone, in_order, cancel, lane_names, result, error, given, chain = rest
    return Run(
        run_id,
        task_id,
        owner,
        _ORIGINS[origin],
        instant_of[planned],
        instant_of[due],
        attempt,
        _RUN_STATES[state],
        REASONS[reason],
        token,
        node,
        _instant_or_none(claimed),
        _instant_or_none(started),
        _instant_or_none(ended),
        _instant_or_none(deadline),
        _decode_span(first, last, count),
        forgiven,
        deaths,
        bool(alone),
        bool(in_order),
        REASONS[cancel],
        () if lane_names is None else lanes[lane_names],
        result,
        error,
        _decode_input(given),
        None if chain is None else chain_places[chain],
    )


def instants_of_run(run: Run) -> tuple[int, int]:
    """Return the planned and the due instant of a run in microseconds."""
    planned = microseconds_of[run.planned]
    return planned, planned if run.due is run.planned else microseconds_of[run.due]


def encode_started_run(task: int, run: Run, instants: tuple[int, int]) -> Row:
    """Encode the run of an ordinary start, whose id begins with its planned instant."""
    claimed = None if run.claimed is None else microseconds_of[run.claimed]
    return (
        run.id,
        task,
        run.owner,
        run.origin,
        *instants,
        run.attempt,
        run.state,
        run.token,
        run.node,
        claimed,
        claimed if run.started is run.claimed else _microseconds_or_none(run.started),
    )


def encode_laned_run(task: int, run: Run) -> Row | None:
    """Encode the run of a `LanedStart`; None if its id does not begin with its planned instant."""
    if not is_named_by_instant(run):
        return None
    return (*encode_started_run(task, run, instants_of_run(run)), _encode_lanes(run.lanes))


def encode_run(task: int, run: Run) -> Row:
    """Encode a run with all fields, and whether its id lacks its planned instant."""
    planned = to_microseconds(run.planned)
    identity = (run.id, task, run.owner, run.origin, planned, to_microseconds(run.due), run.attempt)
    return (*identity, *_encode_mutable_fields(run), int(not names_planned_instant(run.id, planned)))


def encode_success(run_id: str, success: Success) -> Row:
    """Encode the end of a run of an `OrdinarySuccess`."""
    started, ended, result, _ = success
    return (
        run_id,
        RunState.SUCCEEDED,
        None,
        None if started is None else microseconds_of[started],
        to_microseconds(ended),
        None,
        None if result is None else replace_lone_surrogates(result),
        None,
    )


@lru_cache(maxsize=1_024)
def _encode_lanes(lanes: tuple[str, ...]) -> str:
    return encode(lanes)


def _encode_mutable_fields(run: Run) -> Row:
    return (
        run.state,
        run.reason,
        run.token,
        run.node,
        _microseconds_or_none(run.claimed),
        _microseconds_or_none(run.started),
        _microseconds_or_none(run.ended),
        _microseconds_or_none(run.deadline),
        *_encode_span(run.span),
        run.forgiven,
        run.deaths,
        int(run.alone),
        int(run.in_order),
        run.cancel,
        _encode_lanes(run.lanes) if run.lanes else None,
        replace_lone_surrogates(run.result_json),
        replace_lone_surrogates(run.error),
        None if run.input is None else run.input.text,
        None if run.chain is None else encode_chain_place(run.chain),
    )


def is_named_by_instant(run: Run) -> bool:
    """Return whether the id of a run begins with its planned instant: others are indexed separately in the ledger."""
    return names_planned_instant(run.id, microseconds_of[run.planned])


def names_planned_instant(run_id: str, planned: int) -> bool:
    """Return whether the id begins with the millisecond of the planned instant, as `model.ids` makes them."""
    return run_id[:16] == "run_%012x" % (planned // 1000)


# --- chains ------------------------------------------------------------------------------------------------------


def encode_chain_row(task: int, row: ChainRow) -> Row:
    arrivals = [(arrival.predecessor, arrival.state, arrival.run_id) for arrival in row.arrivals]
    return (
        task,
        row.root.key,
        row.state,
        _microseconds_or_none(row.planned),
        row.attempt,
        encode(row.awaited),
        encode(arrivals),
        to_microseconds(row.updated),
    )


def decode_chain_row(row: Row) -> ChainRow:
    """Decode a chain row that ends with the id of its task."""
    _, root, state, planned, attempt, awaited, arrivals, updated, task_id = row
    return ChainRow(
        task_id,
        RootOccurrence.from_key(root),
        instant_of[updated],
        ChainState(state),
        lanes[awaited],
        tuple(Arrival(predecessor, _RUN_STATES[ended], run_id) for predecessor, ended, run_id in decode(arrivals)),
        _instant_or_none(planned),
        attempt,
    )


# --- events ------------------------------------------------------------------------------------------------------


def encode_event(event: Event) -> Row:
    kind, at, owner, task_id, run_id, detail = event
    return (
        kind,
        microseconds_of[at],
        owner,
        task_id,
        run_id,
        None if detail is None else replace_lone_surrogates(detail),
    )


def encode_start_event(run: Run) -> Row:
    """Encode the only event of an ordinary start."""
    claimed = run.claimed
    at = None if claimed is None else microseconds_of[claimed]
    return (EventKind.RUN_STARTED, at, run.owner, run.task_id, run.id, None)


def encode_success_events(task: Task, run: Run, success: Success) -> tuple[Row, ...]:
    """Encode the events of an ordinary success: the end of the run, and that of the task if it is completed."""
    at = to_microseconds(success.ended)
    succeeded = (EventKind.RUN_SUCCEEDED, at, run.owner, run.task_id, run.id, None)
    if success.status.state is not TaskState.COMPLETED:
        return (succeeded,)
    return (succeeded, (EventKind.TASK_COMPLETED, at, task.owner, task.id, None, None))


def decode_event(row: Row) -> NumberedEvent:
    number, kind, at, owner, task_id, run_id, detail = row
    return NumberedEvent(number, Event(_EVENT_KINDS[kind], instant_of[at], owner, task_id, run_id, detail))


# --- nodes -------------------------------------------------------------------------------------------------------


def encode_node(node: Node) -> Row:
    return (
        node.id,
        node.home,
        node.version,
        to_microseconds(node.joined),
        to_microseconds(node.renewed),
        node.renewals,
        node.host,
        node.load,
        node.capacity,
        duration_microseconds(node.offset),
        int(node.draining),
        encode(node.labels) if node.labels else "",
    )


def decode_node(row: Sequence[Any]) -> Node:
    name, home, version, joined, renewed, renewals, host, load, capacity, offset, draining, node_labels = row
    given = labels[node_labels] if node_labels else ()
    details = (host, load, capacity, timedelta(microseconds=offset), bool(draining), given)
    return Node(name, home, version, instant_of[joined], instant_of[renewed], renewals, *details)


def encode_record(record: Record) -> Row:
    kind, key, owner, body, version, expires = record
    return kind, key, owner, body, version, encode_expiry(expires)


def decode_record(row: Sequence[Any]) -> Record:
    kind, key, owner, body, version, expires = row
    return Record(kind, key, owner, body, version, None if expires is None else instant_of[expires])


def encode_expiry(expires: datetime | None) -> int | None:
    return None if expires is None else to_microseconds(expires)


def duration_microseconds(span: timedelta) -> int:
    return span // timedelta(microseconds=1)
