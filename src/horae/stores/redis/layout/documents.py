"""Documents of tasks, runs, chain rows and records, and events: JSON arrays of the columns that the SQL stores have as rows (`stores/codec/rows.py`)."""

from __future__ import annotations

from typing import Final, NamedTuple

from ....model.chain_row import ChainRow
from ....model.change import Facts
from ....model.entry import Entry
from ....model.events.event import Event, NumberedEvent
from ....model.ids import to_microseconds
from ....model.messages import Message, NewMessage, StreamState
from ....model.record import Record
from ....model.run import Run
from ....model.task import Task, TaskStatus
from ...codec.json_codecs import ComputedCache, IdentityCache, decode, encode
from ...codec.message_rows import (
    decode_cursor,
    decode_gap,
    decode_message,
    decode_stream,
    encode_duration,
    encode_message,
)
from ...codec.rows import (
    ENTRY_WIDTH,
    Row,
    decode_chain_row,
    decode_entry,
    decode_event,
    decode_record,
    decode_run,
    decode_status,
    decode_task,
    encode_chain_row,
    encode_entry,
    encode_event,
    encode_record,
    encode_run,
    encode_status,
    encode_task,
)

_MAX_CACHED_CHARACTERS: Final = 2_000
"""Longer definitions are not cached as texts."""


class TaskDocument(NamedTuple):
    """A task with everything that a decision on it reads, except lanes. `number` is its place in the order of addition."""

    number: int
    task: Task
    status: TaskStatus
    entries: tuple[Entry, ...] = ()
    live: tuple[Run, ...] = ()

    @property
    def facts(self) -> Facts:
        return Facts(self.task, self.status, self.entries, self.live)


def encode_task_document(document: TaskDocument) -> str:
    """Two lines of JSON: the definition, which rarely changes and is cached as a text, and the state."""
    task = document.task
    is_small = len(task.payload) + len(task.target.spec) <= _MAX_CACHED_CHARACTERS
    definition = _definition_text(task) if is_small else _encode_definition(task)
    return f"{definition}\n{encode_state_line(document)}"


def encode_state_line(document: TaskDocument) -> str:
    """Return the second line, with its end. It can be written over another one: what is left of a longer one follows its end."""
    number, _, status, entries, live = document
    state = [
        number,
        encode_status(0, 0, status)[2:],
        [encode_entry(0, entry)[1:] for entry in entries],
        [encode_run(0, run)[:-1] for run in live],
    ]
    return f"{encode(state)}\n"


def state_line_at(text: str) -> int:
    """Return where the second line of a task document begins, in bytes."""
    return _byte_length(text[: text.index("\n") + 1])


def _byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


class StoredTask(NamedTuple):
    """A task document as it is stored: the task, and the rows of its state."""

    task: Task
    state_at: int
    """Where the second line of the text begins, in bytes."""
    number: int
    status_row: Row
    entry_rows: list[Row]
    """Columns in the order of `codec.rows`."""
    run_rows: list[list[object]]

    @property
    def status(self) -> TaskStatus:
        return decode_status(self.status_row, 0)

    @property
    def document(self) -> TaskDocument:
        task_id = self.task.id
        entries = tuple([decode_entry(row, task_id) for row in self.entry_rows])
        runs = tuple([_decode_run_row(row, task_id) for row in self.run_rows])
        return TaskDocument(self.number, self.task, self.status, entries, runs)


def parse_task_document(text: str) -> StoredTask:
    definition, state, *_ = text.split("\n", 2)
    is_small = len(definition) <= _MAX_CACHED_CHARACTERS
    task = _definitions[definition] if is_small else _decode_definition(definition)
    number, status_row, entry_rows, run_rows = decode(state)
    rows = [(number, *row) for row in entry_rows]
    return StoredTask(task, _byte_length(definition) + 1, number, tuple(status_row), rows, run_rows)


def decode_task_document(text: str) -> TaskDocument:
    return parse_task_document(text).document


def _encode_definition(task: Task) -> str:
    return encode(encode_task(task))


def _decode_definition(text: str) -> Task:
    return decode_task((0, *decode(text)))


_definition_text: Final[IdentityCache[Task]] = IdentityCache(_encode_definition)
_definitions: Final[ComputedCache[str, Task]] = ComputedCache(_decode_definition)


def encode_run_document(run: Run) -> str:
    return encode([run.task_id, *encode_run(0, run)[:-1]])


def decode_run_document(text: str) -> Run:
    task_id, *row = decode(text)
    return _decode_run_row(row, task_id)


def _decode_run_row(row: list[object], task_id: str) -> Run:
    # `decode_run` reads a row that begins with its place in the ledger.
    return decode_run((0, *row), task_id)


def encode_chain_document(row: ChainRow) -> str:
    return encode([row.task_id, *encode_chain_row(0, row)[1:]])


def decode_chain_document(text: str) -> ChainRow:
    task_id, *row = decode(text)
    return decode_chain_row((0, *row, task_id))


def encode_record_document(record: Record) -> str:
    return encode(encode_record(record))


def decode_record_document(text: str) -> Record:
    return decode_record(decode(text))


def encode_stream_document(state: StreamState) -> str:
    stream, cursors, gaps = state
    return encode(
        [
            stream.owner,
            stream.name,
            to_microseconds(stream.created),
            stream.first,
            stream.last,
            stream.bytes,
            stream.keep,
            encode_duration(stream.keep_for),
            None if stream.oldest is None else to_microseconds(stream.oldest),
            [[cursor.reader, cursor.number, to_microseconds(cursor.moved)] for cursor in cursors],
            [[gap.first, gap.last, to_microseconds(gap.at)] for gap in gaps],
        ]
    )


def decode_stream_document(text: str) -> StreamState:
    *row, cursors, gaps = decode(text)
    stream = decode_stream((0, *row))
    return StreamState(stream, tuple(map(decode_cursor, cursors)), tuple(map(decode_gap, gaps)))


def encode_message_text(message: NewMessage) -> str:
    return encode(encode_message(message))


def decode_message_text(owner: str, stream: str, number: int, text: str) -> Message:
    *row, _size = decode(text)
    return decode_message(owner, stream, (0, number, *row))


def encode_event_text(event: Event) -> str:
    return encode(encode_event(event))


def decode_event_text(number: int, text: str) -> NumberedEvent:
    return decode_event((number, *decode(text)))


__all__ = [
    "ENTRY_WIDTH",
    "StoredTask",
    "TaskDocument",
    "decode_chain_document",
    "decode_event_text",
    "decode_message_text",
    "decode_record_document",
    "decode_run_document",
    "decode_stream_document",
    "decode_task_document",
    "encode_chain_document",
    "encode_event_text",
    "encode_message_text",
    "encode_record_document",
    "encode_run_document",
    "encode_stream_document",
    "encode_task_document",
    "parse_task_document",
]
