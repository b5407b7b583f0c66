"""Rows of message streams, messages, cursors and gaps; `messages.sql` of each store reads the columns in this order."""

from __future__ import annotations

from datetime import timedelta

from ...model.ids import to_microseconds
from ...model.messages import Cursor, Gap, Message, NewMessage, Stream
from .json_codecs import instant_of
from .rows import Row

_MICROSECOND = timedelta(microseconds=1)


def encode_duration(duration: timedelta | None) -> int | None:
    return None if duration is None else duration // _MICROSECOND


def decode_stream_with_id(row: Row) -> tuple[int, Stream]:
    stream_id, owner, name, created, first, last, size, keep, keep_for, oldest = row
    stream = Stream(
        owner,
        name,
        instant_of[created],
        first,
        last,
        size,
        keep,
        None if keep_for is None else timedelta(microseconds=keep_for),
        None if oldest is None else instant_of[oldest],
    )
    return stream_id, stream


def decode_stream(row: Row) -> Stream:
    _, stream = decode_stream_with_id(row)
    return stream


def encode_message(message: NewMessage) -> Row:
    """Return the columns after the number."""
    return (
        to_microseconds(message.at),
        message.sender,
        message.source,
        message.source_id,
        message.text,
        message.references,
        message.size,
    )


def decode_message(owner: str, stream: str, row: Row) -> Message:
    _, number, at, sender, source, source_id, text, references = row
    return Message(owner, number, NewMessage(stream, text, sender, source, source_id, instant_of[at], references))


def decode_exported_message(row: Row) -> Message:
    *columns, owner, stream = row
    return decode_message(owner, stream, tuple(columns))


def decode_cursor(row: Row) -> Cursor:
    reader, number, moved = row
    return Cursor(reader, number, instant_of[moved])


def decode_gap(row: Row) -> Gap:
    first, last, at = row
    return Gap(first, last, instant_of[at])
