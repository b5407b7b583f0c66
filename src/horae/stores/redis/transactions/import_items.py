"""Import of exported items into Redis: as they are, without decisions, counters or events; each page is one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from ....errors import StoreError
from ....model.chain_row import ChainRow
from ....model.change import Facts
from ....model.entry import EntryState
from ....model.events.event import NumberedEvent
from ....model.ids import to_microseconds
from ....model.lanes.lane import OWNER_LANE_PREFIX
from ....model.lanes.route import is_route
from ....model.messages import Message, StreamState
from ....model.run import Run
from ....ports.journal import NumberedLine
from ....ports.records import Record
from ....ports.store import Node
from ....ports.transfer import (
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
from ..journal import encode_line
from ..layout.documents import (
    TaskDocument,
    decode_chain_document,
    decode_stream_document,
    encode_chain_document,
    encode_event_text,
    encode_message_text,
    encode_run_document,
    encode_stream_document,
)
from ..layout.indexes import (
    NOTHING,
    MembersSum,
    members_of_chain_row,
    members_of_run,
    members_of_stream,
    update_indexes,
)
from ..layout.keys import counter_field, identity_field, key_field
from ..layout.lane_documents import LaneDocument, decode_lane, decode_limits, encode_lane, encode_limits
from ..layout.node_documents import encode_node_document, encode_node_state
from .record_writes import put_record, read_record
from .transaction import Transaction
from .unit_of_work import KnownTask, UnitOfWork

EPOCH_SHIFT: Final = 40
_COUNTER_MASK: Final = (1 << EPOCH_SHIFT) - 1


async def _import_marks(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    keys, client = transaction.keys, transaction.client
    for name, number in require_type(HighWaterMark, items):
        if name == TOKEN_MARK:
            epoch, counter = await client.call("HMGET", keys.tokens, "epoch", "counter")
            if number > (int(epoch or 0) << EPOCH_SHIFT) + int(counter or 0):
                transaction.call("HSET", keys.tokens, "epoch", number >> EPOCH_SHIFT, "counter", number & _COUNTER_MASK)
        elif name == EVENT_MARK:
            transaction.call("RAISE", keys.last_event, number)


async def _import_metadata(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    for metadata in require_type(MetadataItem, items):
        transaction.call("HSET", transaction.keys.metadata, *metadata)


async def _import_records(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    for record in require_type(Record, items):
        put_record(transaction, await read_record(transaction, record.kind, record.key), record)


async def _import_lanes(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    keys = transaction.keys
    limits = decode_limits(await transaction.read_one(keys.limits))
    owner_lanes = set(limits.lanes)
    for name, limit, rate, starts, wake_at in require_type(LaneLimit, items):
        before = decode_lane(await transaction.read_one(keys.lane(name)))
        kept = () if rate is None else starts
        after = before._replace(limit=limit, rate=rate, starts=kept, wake_at=wake_at)
        _put_lane(transaction, name, before, after)
        if name.startswith(OWNER_LANE_PREFIX):
            owner_lanes.add(name)
    if owner_lanes != limits.lanes:
        transaction.put(keys.limits, encode_limits(limits._replace(lanes=frozenset(owner_lanes))))


def _put_lane(transaction: Transaction, name: str, before: LaneDocument, after: LaneDocument) -> None:
    keys = transaction.keys
    transaction.put(keys.lane(name), encode_lane(after))
    transaction.call("ZADD", keys.lanes, 0, name)
    if after.wake_at is not None:
        transaction.call("ZADD", keys.wakeups, to_microseconds(after.wake_at), name)
    elif before.wake_at is not None:
        transaction.call("ZREM", keys.wakeups, name)


async def _import_blocked_owners(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    keys = transaction.keys
    limits = decode_limits(await transaction.read_one(keys.limits))
    blocked = {**limits.blocked, **dict(require_type(BlockedOwner, items))}
    transaction.put(keys.limits, encode_limits(limits._replace(blocked=blocked)))


async def _import_nodes(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    keys = transaction.keys
    for node in require_type(Node, items):
        await transaction.read_one(keys.node(node.id))
        transaction.put(keys.node(node.id), encode_node_document(node))
        transaction.call("HSET", keys.node_state(node.id), *encode_node_state(node))
        transaction.call("ZADD", keys.nodes, 0, node.id)


async def _import_counters(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    keys = transaction.keys
    for owner, hour, name, number in require_type(CounterValue, items):
        transaction.call("ZADD", keys.counter_owners, 0, owner)
        transaction.call("HSET", keys.counters(owner), counter_field(hour, name), number)


async def _import_tasks(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    """Write tasks with their entries and live runs, in place of those that exist."""
    unit = UnitOfWork(transaction)
    given = require_type(Facts, items)
    await unit.load([facts.task.id for facts in given])
    lanes = {lane for facts in given for run in facts.live for lane in run.lanes}
    lanes |= {
        entry.lane for facts in given for entry in facts.entries if entry.lane is not None and not is_route(entry.lane)
    }
    await unit.load_lanes(lanes)
    number = await _reserve_numbers(transaction, sum(unit.tasks[facts.task.id].before is None for facts in given))
    for facts in given:
        await _check_key(transaction, facts)
        known = unit.tasks[facts.task.id]
        if known.before is None:
            number += 1
        after = _document_of(facts, number if known.before is None else known.before.number)
        await _require_live(transaction, after)
        _replace(unit, known, after)
    await unit.finish()


async def _reserve_numbers(transaction: Transaction, count: int) -> int:
    """Return the number before the first of these new tasks."""
    if not count:
        return 0
    return int(await transaction.client.call("INCRBY", transaction.keys.last_number, count)) - count


def _document_of(facts: Facts, number: int) -> TaskDocument:
    entries = tuple(
        entry._replace(state=EntryState.TIMED) if entry.state is EntryState.READY else entry
        for entry in sorted(facts.entries, key=lambda entry: entry.slot)
    )
    live = tuple(sorted(facts.live, key=lambda run: run.id))
    return TaskDocument(number, facts.task, facts.status, entries, live)


async def _check_key(transaction: Transaction, facts: Facts) -> None:
    task = facts.task
    if task.key is None:
        return
    words = ("HGET", transaction.keys.task_keys, key_field(task.owner, task.key))
    holder = await transaction.client.call(*words)
    if holder not in (None, task.id):
        raise StoreError(f"The key {task.key} belongs to another task; nothing was written.")
    transaction.require(holder or "", *words)


async def _require_live(transaction: Transaction, document: TaskDocument) -> None:
    texts = await transaction.read([transaction.keys.run(run.id) for run in document.live])
    if any(text is not None for text in texts):
        raise StoreError("A run that goes on there has ended here; nothing was written.")


def _replace(unit: UnitOfWork, known: KnownTask, after: TaskDocument) -> None:
    """Replace a task with its entries and live runs; lanes count them."""
    before = known.before
    for run in () if before is None else before.live:
        unit.lanes.add_taken(run.lanes, -1)
    for run in after.live:
        unit.lanes.add_taken(run.lanes, 1)
    for entry in () if before is None else before.entries:
        unit.lanes.replace_entry(entry, None)
    for entry in after.entries:
        unit.lanes.replace_entry(None, entry)
    known.after = after


async def _import_chain_rows(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    keys = transaction.keys
    rows = require_type(ChainRow, items)
    tasks = await transaction.read([keys.task(row.task_id) for row in rows])
    for row, task in zip(rows, tasks, strict=True):
        if task is not None:
            text = await transaction.read_one(keys.chain(row.task_id, row.root.key))
            before = NOTHING if text is None else members_of_chain_row(keys, decode_chain_document(text))
            transaction.put(keys.chain(row.task_id, row.root.key), encode_chain_document(row))
            update_indexes(transaction, before, members_of_chain_row(keys, row))


async def _import_runs(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    """Write ended runs; those that exist are not changed."""
    keys = transaction.keys
    runs = require_type(Run, items)
    tasks = await transaction.read([keys.task(run.task_id) for run in runs])
    texts = await transaction.read([keys.run(run.id) for run in runs])
    after = MembersSum()
    for run, task, text in zip(runs, tasks, texts, strict=True):
        if task is None:
            raise StoreError(f"The run {run.id} belongs to {run.task_id}, which is not there; nothing was written.")
        is_live = await transaction.client.call("HEXISTS", keys.live, run.id)
        if text is None and not is_live:
            transaction.put(keys.run(run.id), encode_run_document(run))
            after.add(members_of_run(keys, run))
    update_indexes(transaction, NOTHING, after.total)


async def _import_lines(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    keys, client = transaction.keys, transaction.client
    sizes: dict[str, int] = {}
    for number, line in require_type(NumberedLine, items):
        if line.run_id not in sizes:
            size = sizes[line.run_id] = int(await client.call("LLEN", keys.log(line.run_id)))
            transaction.require(str(size), "LLEN", keys.log(line.run_id))
        if number == sizes[line.run_id] + 1:
            transaction.call("RPUSH", keys.log(line.run_id), encode_line(line))
            transaction.call("ZADD", keys.logged_runs, 0, line.run_id)
            sizes[line.run_id] = number
        elif number > sizes[line.run_id]:
            missing = sizes[line.run_id] + 1
            raise StoreError(f"Line {missing} of {line.run_id} is missing; nothing was written.")


async def _import_events(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    """Insert events under their own numbers. A stream of Redis takes only rising ids: what is before its last event is there
    already, or was removed."""
    keys, client = transaction.keys, transaction.client
    newest = 0
    if await client.call("EXISTS", keys.events):
        described = await client.call("XINFO STREAM", keys.events)
        newest = int(described["last-generated-id"].partition("-")[0])
    await transaction.read_one(keys.trimmed)
    highest = 0
    for number, event in sorted(require_type(NumberedEvent, items)):
        highest = max(highest, number)
        if number > newest:
            words = ("o", event.owner, "e", encode_event_text(event))
            transaction.call("XADD", keys.events, f"{number}-0", *words)
            transaction.call("ZADD", keys.owner_events(event.owner), number, number)
    transaction.call("RAISE", keys.last_event, highest)


async def _import_streams(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    keys = transaction.keys
    for state in require_type(StreamState, items):
        key = keys.stream(state.stream.owner, state.stream.name)
        text = await transaction.read_one(key)
        before = NOTHING if text is None else members_of_stream(keys, decode_stream_document(text).stream)
        cursors = tuple(sorted(state.cursors))
        transaction.put(key, encode_stream_document(state._replace(cursors=cursors)))
        update_indexes(transaction, before, members_of_stream(keys, state.stream))


async def _import_messages(transaction: Transaction, items: Sequence[TransferItem]) -> None:
    keys = transaction.keys
    for owner, number, message in require_type(Message, items):
        transaction.call("HSET", keys.messages(owner, message.stream), number, encode_message_text(message))
        identity = identity_field(*message.identity)
        transaction.call("HSET", keys.message_numbers(owner, message.stream), identity, number)


IMPORTERS: Final[dict[Part, Callable[[Transaction, Sequence[TransferItem]], Awaitable[None]]]] = {
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
