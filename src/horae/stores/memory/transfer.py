"""Transfer port of the in-memory store: export by pages, and idempotent import."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, cast

from ...errors import StoreError
from ...model.chain_row import ChainRow
from ...model.change import Facts
from ...model.events.event import NumberedEvent
from ...model.messages import Message, StreamState
from ...model.page import Page
from ...model.run import Run
from ...ports.journal import NumberedLine
from ...ports.records import Record
from ...ports.store import Node
from ...ports.transfer import (
    EVENT_MARK,
    TOKEN_MARK,
    BlockedOwner,
    CounterValue,
    HighWaterMark,
    LaneLimit,
    MetadataItem,
    Part,
    TransferItem,
    require_type,
)
from ..transfer_pages import ReadableStore, decode_position, encode_position, make_page, read_page
from .data import Data
from .entries import key_of


class MemoryTransfer:
    _data: Data

    async def count_parts(self) -> dict[Part, int]:
        data = self._data
        with data.lock:
            counts = {part: len(list(_sorted_rows(data, part))) for part in _TABLE_PARTS}
            ended_runs = sum(not run.live for run in data.runs)
            other_counts = {Part.NODES: len(data.nodes), Part.TASKS: len(data.tasks), Part.EVENTS: len(data.events)}
            return counts | other_counts | {Part.RUNS: ended_runs}

    async def export_page(self, part: Part, after: str | None = None, limit: int = 500) -> Page[TransferItem]:
        if part not in _TABLE_PARTS:
            return await read_page(cast("ReadableStore", self), part, after, limit)
        with self._data.lock:
            rows = [
                row
                for row in _sorted_rows(self._data, part)
                if after is None or _sort_key(row) > decode_position(after, ())
            ]
            return make_page(rows, limit, lambda parcel: encode_position(*_sort_key(parcel)))

    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        rows = tuple(parcels)
        with self._data.transaction():
            _IMPORTERS[part](self._data, rows)


# --- export --------------------------------------------------------------------------------------------------------

_TABLE_PARTS: Final = frozenset(
    {Part.MARKS, Part.METADATA, Part.RECORDS, Part.LANES, Part.BLOCKED_OWNERS, Part.COUNTERS, Part.CHAINS, Part.LINES}
    | {Part.STREAMS, Part.MESSAGES}
)


def _sorted_rows(data: Data, part: Part) -> list[TransferItem]:
    """Return the rows of a part that the ordinary queries do not cover, in order of their keys."""
    return sorted(_read_rows(data, part), key=_sort_key)


def _read_rows(data: Data, part: Part) -> Iterator[TransferItem]:
    match part:
        case Part.MARKS:
            marks = (HighWaterMark(TOKEN_MARK, data.token), HighWaterMark(EVENT_MARK, data.events.last_number))
            yield from (mark for mark in marks if mark.number)
        case Part.METADATA:
            yield from (MetadataItem(*fact) for fact in data.metadata.items())
        case Part.RECORDS:
            yield from data.records
        case Part.LANES:
            yield from (_lane_limit(data, name) for name in data.lane_limits.all_keys())
        case Part.BLOCKED_OWNERS:
            yield from (BlockedOwner(owner, data.blocked_owners[owner]) for owner in data.blocked_owners.all_keys())
        case Part.COUNTERS:
            counts = (CounterValue(*key, data.counters[key]) for key in data.counters.all_keys())
            yield from (count for count in counts if count.number)
        case Part.CHAINS:
            yield from data.chain_rows
        case Part.STREAMS | Part.MESSAGES:
            yield from data.messages.streams if part is Part.STREAMS else data.messages.messages
        case _:
            for run_id in data.lines.all_keys():
                yield from (NumberedLine(*row) for row in enumerate(data.lines[run_id], 1))


def _lane_limit(data: Data, name: str) -> LaneLimit:
    kept = data.lane_starts.get(name) or ()
    return LaneLimit(name, data.lane_limits[name], data.lane_rates.get(name), kept, data.lane_wakeups.get(name))


def _sort_key(parcel: TransferItem) -> tuple[Any, ...]:
    match parcel:
        case Record(kind=kind, key=key):
            return kind, key
        case CounterValue(owner=owner, hour=hour, name=name):
            return hour, owner, name
        case NumberedLine(number=number, line=line):
            return line.run_id, number
        case StreamState(stream=stream):
            return stream.owner, stream.name
        case Message(owner=owner, number=number, message=message):
            return owner, message.stream, number
        case ChainRow(task_id=task_id, root=root):
            return task_id, root.key
        case HighWaterMark(name=name) | MetadataItem(name=name) | LaneLimit(name=name) | BlockedOwner(owner=name):
            return (name,)
        case _:
            raise LookupError(f"a {type(parcel).__name__} is not exported like this")


# --- import --------------------------------------------------------------------------------------------------------


def _import_marks(data: Data, parcels: Sequence[TransferItem]) -> None:
    for name, number in require_type(HighWaterMark, parcels):
        if name == TOKEN_MARK:
            data.token = max(data.token, number)
        elif name == EVENT_MARK:
            data.events.raise_last_number(number)


def _import_metadata(data: Data, parcels: Sequence[TransferItem]) -> None:
    data.metadata.update(require_type(MetadataItem, parcels))


def _import_records(data: Data, parcels: Sequence[TransferItem]) -> None:
    for record in require_type(Record, parcels):
        data.records.write((record.kind, record.key), record)


def _import_lanes(data: Data, parcels: Sequence[TransferItem]) -> None:
    for name, limit, rate, starts, wake_at in require_type(LaneLimit, parcels):
        data.lane_limits.write(name, limit)
        data.lane_rates.write(name, rate)
        data.lane_starts.write(name, None if rate is None else starts)
        data.lane_wakeups.write(name, wake_at)


def _import_blocked_owners(data: Data, parcels: Sequence[TransferItem]) -> None:
    for owner, reason in require_type(BlockedOwner, parcels):
        data.blocked_owners.write(owner, reason)


def _import_nodes(data: Data, parcels: Sequence[TransferItem]) -> None:
    for node in require_type(Node, parcels):
        data.nodes.write(node.id, node)


def _import_counters(data: Data, parcels: Sequence[TransferItem]) -> None:
    for owner, hour, name, number in require_type(CounterValue, parcels):
        data.counters.write((owner, hour, name), number)


def _import_tasks(data: Data, parcels: Sequence[TransferItem]) -> None:
    for facts in require_type(Facts, parcels):
        _import_task(data, facts)


def _import_chain_rows(data: Data, parcels: Sequence[TransferItem]) -> None:
    for row in require_type(ChainRow, parcels):
        if row.task_id in data.tasks:
            data.chain_rows.put(row)


def _import_runs(data: Data, parcels: Sequence[TransferItem]) -> None:
    for run in require_type(Run, parcels):
        if run.task_id not in data.tasks:
            raise StoreError(f"The run {run.id} belongs to {run.task_id}, which is not there; nothing was written.")
        if run.id not in data.runs:
            data.runs.write(run.id, run)


def _import_lines(data: Data, parcels: Sequence[TransferItem]) -> None:
    for number, line in require_type(NumberedLine, parcels):
        stored = data.lines.get(line.run_id) or []
        if number == len(stored) + 1:
            # A new list each time, so that a rollback restores the old one.
            data.lines.write(line.run_id, [*stored, line])
        elif number > len(stored):
            raise StoreError(f"Line {len(stored) + 1} of {line.run_id} is missing; nothing was written.")


def _import_events(data: Data, parcels: Sequence[TransferItem]) -> None:
    for event in require_type(NumberedEvent, parcels):
        data.events.insert_numbered(event)


def _import_streams(data: Data, parcels: Sequence[TransferItem]) -> None:
    for state in require_type(StreamState, parcels):
        data.messages.streams.write((state.stream.owner, state.stream.name), state)


def _import_messages(data: Data, parcels: Sequence[TransferItem]) -> None:
    for message in require_type(Message, parcels):
        data.messages.put(message)


def _import_task(data: Data, facts: Facts) -> None:
    task = facts.task
    holder = None if task.key is None else data.tasks.with_key(task.owner, task.key)
    if holder not in (None, task.id):
        raise StoreError(f"The key {task.key} belongs to another task; nothing was written.")
    for run in data.runs.live(task.id):
        data.runs.write(run.id, None)
    for entry in data.entries.of_task(task.id):
        data.entries.write(key_of(entry), None)
    data.assign_number(task.id)
    data.tasks.write(task.id, task)
    data.statuses.write(task.id, facts.status)
    for run in facts.live:
        data.runs.write(run.id, run)
    for entry in facts.entries:
        data.entries.write(key_of(entry), entry)


_IMPORTERS: Final[dict[Part, Callable[[Data, Sequence[TransferItem]], None]]] = {
    Part.MARKS: _import_marks,
    Part.METADATA: _import_metadata,
    Part.RECORDS: _import_records,
    Part.LANES: _import_lanes,
    Part.BLOCKED_OWNERS: _import_blocked_owners,
    Part.NODES: _import_nodes,
    Part.COUNTERS: _import_counters,
    Part.TASKS: _import_tasks,
    Part.CHAINS: _import_chain_rows,
    Part.RUNS: _import_runs,
    Part.LINES: _import_lines,
    Part.EVENTS: _import_events,
    Part.STREAMS: _import_streams,
    Part.MESSAGES: _import_messages,
}
