"""Values of message streams: stream, message, cursor of a reader, gap; and the writes that a run commits with its settlement."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from .accounts.principal import Quotas
from .message_refusals import refuse
from .record import RecordWrite
from .text.field_checks import check_number, check_text

TEXT_BYTES: Final = 64 * 1024
REFERENCE_BYTES: Final = 16 * 1024
REFERENCES: Final = 64
STREAM_CHARACTERS: Final = 200
READER_CHARACTERS: Final = 100
SENDER_CHARACTERS: Final = 200
SOURCE_CHARACTERS: Final = 100
SOURCE_ID_CHARACTERS: Final = 200
APPEND_MESSAGES: Final = 100
"""Messages of one append."""
RUN_MESSAGES: Final = 256
"""Messages that one commit of a run may append; as many cursors may move."""
PAGE_MESSAGES: Final = 200
PAGE_BYTES: Final = 1024 * 1024
"""A page of messages ends before it has more bytes, but has at least one message."""
KEEP_MESSAGES: Final = 100_000
KEEP_FOR: Final = timedelta(days=90)
KEEP_READ_FOR: Final = timedelta(days=1)
MAX_KEEP: Final = 10_000_000
MAX_KEEP_FOR: Final = timedelta(days=3_650)
RUN_SOURCE: Final = "run"
"""Source of the messages that a run sends without an id of its own."""
SENT_SOURCE: Final = "horae"
"""Source of the messages that a front end sends without an id of the caller."""


class NewMessage(NamedTuple):
    """Message to be appended. `source` and `source_id` identify it in its stream: a repeated append returns the first number."""

    stream: str
    text: str
    sender: str
    source: str
    source_id: str
    at: datetime
    references: str = "[]"
    """JSON array."""

    @property
    def size(self) -> int:
        """Bytes of the text and the references."""
        return len(self.text.encode(errors="replace")) + len(self.references.encode(errors="replace"))

    @property
    def identity(self) -> tuple[str, str]:
        return self.source, self.source_id


class Message(NamedTuple):
    """Stored message with its number."""

    owner: str
    number: int
    message: NewMessage


class Stream(NamedTuple):
    """Numbered messages of an owner. Stored are the numbers `first` to `last`, without holes: retention removes the oldest."""

    owner: str
    name: str
    created: datetime
    first: int = 1
    last: int = 0
    bytes: int = 0
    keep: int | None = None
    """Most messages to keep; None: the setting of the deployment."""
    keep_for: timedelta | None = None
    oldest: datetime | None = None
    """Instant of the message `first`."""

    @property
    def stored(self) -> int:
        return self.last - self.first + 1


class Cursor(NamedTuple):
    """Position of a reader: all messages up to `number` are handled.

    `run_id` is the run that moved it there, where the service has looked for it; stores do not keep it with the cursor.
    """

    reader: str
    number: int
    moved: datetime
    run_id: str | None = None


class Gap(NamedTuple):
    """Numbers that were removed at a cap, before every reader had passed them."""

    first: int
    last: int
    at: datetime

    @property
    def length(self) -> int:
        return self.last - self.first + 1


class StreamState(NamedTuple):
    """A stream with its cursors, by reader, and its gaps, oldest first."""

    stream: Stream
    cursors: tuple[Cursor, ...] = ()
    gaps: tuple[Gap, ...] = ()


class MessagePage(NamedTuple):
    """Messages after a number, oldest first. `after` is the number that the page begins after; `gaps` lie behind it.

    `next_after` is the number for the next page; None when the page reaches the end of the stream.
    """

    stream: Stream
    after: int
    messages: tuple[Message, ...]
    gaps: tuple[Gap, ...] = ()
    next_after: int | None = None


class CursorMove(NamedTuple):
    """Numbers that a run has acknowledged, as ranges (first, last). The cursor moves over those that follow it without a hole."""

    stream: str
    reader: str
    acknowledged: tuple[tuple[int, int], ...]
    at: datetime
    run_id: str | None = None
    """The run of a progress write; a settlement has its run anyway."""


class StreamQuota(NamedTuple):
    """Limits of an owner's streams; None: unlimited. `messages` and `readers` are those of one stream."""

    streams: int | None = 1_000
    bytes: int | None = 1024 * 1024 * 1024
    messages: int | None = None
    readers: int | None = 100
    text_bytes: int | None = None


class StreamUsage(NamedTuple):
    streams: int = 0
    bytes: int = 0


DEFAULT_QUOTA: Final = StreamQuota()


class RunWrites(NamedTuple):
    """Writes of a run, committed with its settlement or by a progress write, fenced by its token: all or none."""

    records: tuple[RecordWrite, ...] = ()
    messages: tuple[NewMessage, ...] = ()
    moves: tuple[CursorMove, ...] = ()
    quota: StreamQuota = DEFAULT_QUOTA


class KeepRules(NamedTuple):
    """Retention of messages where a stream has no rule of its own."""

    keep: int = KEEP_MESSAGES
    keep_for: timedelta = KEEP_FOR
    keep_read_for: timedelta = KEEP_READ_FOR
    """Messages that every reader has passed stay so long, for people who look back."""


DEFAULT_RULES: Final = KeepRules()


def check_stream_name(name: object) -> str:
    """Return the name of a stream; refuse one that is empty, too long, or has spaces or a slash."""
    _check_name("stream", name, STREAM_CHARACTERS)
    return str(name)


def check_reader(name: object) -> str:
    _check_name("reader", name, READER_CHARACTERS)
    return str(name)


def _check_name(field: str, name: object, most: int) -> None:
    check_text(field, name, most)
    if "/" in str(name) or any(character.isspace() for character in str(name)) or str(name) in {".", ".."}:
        raise refuse("bad_stream_name", name=field, value=name)


def check_message(message: NewMessage, most: int | None = None) -> None:
    """Refuse a message that no store could keep, or whose text is larger than `most` bytes, or than any may be."""
    check_stream_name(message.stream)
    check_text("sender", message.sender, SENDER_CHARACTERS)
    check_text("source", message.source, SOURCE_CHARACTERS)
    check_text("id", message.source_id, SOURCE_ID_CHARACTERS)
    text = message.text
    if not text and message.references == "[]":
        raise refuse("empty_message")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise refuse("unstorable_message") from error
    if "\0" in text:
        raise refuse("unstorable_message")
    check_text_bytes(size, most)


def check_text_bytes(size: int, most: int | None) -> None:
    """Refuse a text of more than `most` bytes, or than any message may have."""
    limit = TEXT_BYTES if most is None else min(most, TEXT_BYTES)
    if size > limit:
        raise refuse("message_too_large", size=size, most=limit)


def encode_references(references: Any) -> str:
    """Return references as JSON text; refuse what is no list of JSON values, or too large."""
    try:
        text = json.dumps(references, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse("bad_references", most=REFERENCES, size=REFERENCE_BYTES) from error
    if (
        not isinstance(references, list | tuple)
        or len(references) > REFERENCES
        or size > REFERENCE_BYTES
        or "\\u0000" in text
    ):
        raise refuse("bad_references", most=REFERENCES, size=REFERENCE_BYTES)
    return text


def check_keep(keep: object, keep_for: object) -> None:
    """Refuse caps of a stream outside their bounds; None is the default of the deployment."""
    if keep is not None:
        check_number("keep", keep, 1, MAX_KEEP)
    if keep_for is not None and not (
        isinstance(keep_for, timedelta) and timedelta(seconds=1) <= keep_for <= MAX_KEEP_FOR
    ):
        raise refuse("bad_keep_for", value=keep_for)


def check_writes(writes: RunWrites) -> None:
    """Refuse writes of a run that are too many or too large, before the run goes on."""
    if len(writes.messages) > RUN_MESSAGES or len(writes.moves) > RUN_MESSAGES or len(writes.records) > RUN_MESSAGES:
        raise refuse("too_many_writes", most=RUN_MESSAGES)
    for message in writes.messages:
        check_message(message)


def stream_quota_of(quotas: Quotas) -> StreamQuota:
    return StreamQuota(
        streams=quotas.message_streams,
        bytes=quotas.stored_message_bytes,
        messages=quotas.stream_messages,
        readers=quotas.stream_readers,
        text_bytes=quotas.message_bytes,
    )
