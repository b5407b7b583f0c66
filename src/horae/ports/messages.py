"""The messages port: durable streams of numbered messages with an owner, and cursors of readers that move with a run.

A foreign stream answers like an absent one: streams are named within their owner. Numbers rise in the order of commits,
from 1, without holes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from ..model.messages import (
    DEFAULT_QUOTA,
    Cursor,
    KeepRules,
    MessagePage,
    NewMessage,
    RunWrites,
    Stream,
    StreamQuota,
    StreamState,
    StreamUsage,
)
from ..model.page import Page
from ..model.record import RecordWrite


class MessageTrim(NamedTuple):
    """Result of one retention batch. `more`: there may be more to remove now."""

    messages: int = 0
    more: bool = False


class Messages(Protocol):
    async def append_messages(
        self,
        owner: str,
        messages: Sequence[NewMessage],
        quota: StreamQuota = DEFAULT_QUOTA,
        attached_records: Sequence[RecordWrite] = (),
    ) -> tuple[int, ...]:
        """Append to the owner's streams, all or none, and return the number of each message in its stream.

        A stream is created by its first message. A message whose source and id the stream has already is not appended
        again: its number is that of the first. Raises a refusal when the quota would be exceeded.
        """

    async def read_messages(
        self, owner: str, stream: str, after: int = 0, limit: int = 50, reader: str | None = None
    ) -> MessagePage | None:
        """Return messages after a number, or with `reader` after its cursor; None for an absent stream or reader.

        Reading moves no cursor.
        """

    async def stream(self, owner: str, name: str) -> StreamState | None: ...

    async def streams(self, owner: str | None, after: str | None = None, limit: int = 100) -> Page[Stream]:
        """Return a page of streams by owner and name."""

    async def stream_usage(self, owner: str) -> StreamUsage:
        """Count the streams of an owner and their bytes."""

    async def put_stream(
        self,
        stream: Stream,
        quota: StreamQuota = DEFAULT_QUOTA,
        attached_records: Sequence[RecordWrite] = (),
    ) -> Stream:
        """Create this stream without messages, or give the existing one its caps."""

    async def delete_stream(self, owner: str, name: str, attached_records: Sequence[RecordWrite] = ()) -> bool:
        """Delete a stream with its messages and cursors, in small transactions; False if there is none."""

    async def register_reader(  # noqa: PLR0913 - the parts of a cursor, its audit row and its limit
        self,
        owner: str,
        stream: str,
        reader: str,
        after: int | None,
        now: datetime,
        attached_records: Sequence[RecordWrite] = (),
        *,
        quota: StreamQuota = DEFAULT_QUOTA,
    ) -> Cursor | None:
        """Return the cursor of a reader, registered after the given number (None: the end) if it is new.

        None for an absent stream. Raises a refusal when the stream has as many readers as the quota allows.
        """

    async def remove_reader(
        self, owner: str, stream: str, reader: str, attached_records: Sequence[RecordWrite] = ()
    ) -> bool:
        """Remove the cursor of a reader, which then keeps no message from removal; False if there is none."""

    async def commit_writes(self, run_id: str, token: int, writes: RunWrites) -> bool:
        """Commit writes of a live run that goes on, fenced by its token; False, with nothing written, if it is stale.

        Raises a refusal, with nothing written, for a record that was changed, or a reader or stream that is not there.
        """

    async def trim_messages(self, now: datetime, rules: KeepRules, limit: int) -> MessageTrim:
        """Remove a small batch of messages; costs next to nothing when there is nothing to remove."""
