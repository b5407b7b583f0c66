"""Messages of a run: reads streams of its owner, collects what commits with its settlement, and commits it earlier on request."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from threading import Lock
from typing import Any, Final, Protocol

from ..errors import StoreError
from ..model.accounts.system_owner import account_of
from ..model.message_refusals import refuse
from ..model.messages import (
    DEFAULT_QUOTA,
    RUN_MESSAGES,
    RUN_SOURCE,
    CursorMove,
    MessagePage,
    NewMessage,
    RunWrites,
    StreamQuota,
    check_message,
    check_reader,
    check_stream_name,
    check_writes,
    encode_references,
)
from ..model.record import RecordWrite
from ..model.run import Run
from ..ports.messages import Messages
from ..ports.target import DEFAULT_READER

LOG: Final = logging.getLogger("horae")


class RunContext(Protocol):
    """The run as far as its messages need it."""

    @property
    def run(self) -> Run: ...
    @property
    def key(self) -> str: ...


class StagedWrites:
    """Writes that commit with the settlement of a run. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._records: dict[tuple[str, str], RecordWrite] = {}
        self._messages: list[NewMessage] = []
        self._acknowledged: dict[tuple[str, str], set[int]] = {}
        self.sent = 0
        """Messages that the run has sent, committed ones too."""
        self.commits = 0
        """Progress writes that are committed."""

    def add_records(self, records: Sequence[RecordWrite]) -> None:
        """Add records; a later write of the same record replaces one that is not committed yet."""
        with self._lock:
            self._records |= {(write.record.kind, write.record.key): write for write in records}

    def add_message(self, build: Callable[[int], NewMessage]) -> None:
        """Add the message that `build` returns for its place among the messages of the run."""
        with self._lock:
            if len(self._messages) >= RUN_MESSAGES:
                raise refuse("too_many_writes", most=RUN_MESSAGES)
            message = build(self.sent + 1)
            check_message(message)
            self.sent += 1
            self._messages.append(message)

    def acknowledge(self, stream: str, reader: str, numbers: Sequence[int]) -> None:
        with self._lock:
            self._acknowledged.setdefault((stream, reader), set()).update(numbers)

    @property
    def has_messages(self) -> bool:
        return bool(self._messages)

    def collect(self, now: datetime) -> RunWrites | None:
        """Return all writes, None if there are none; acknowledged numbers stay, as later ones may close a hole."""
        with self._lock:
            moves = tuple(
                CursorMove(stream, reader, _ranges(numbers), now)
                for (stream, reader), numbers in sorted(self._acknowledged.items())
            )
            if not (self._records or self._messages or moves):
                return None
            return RunWrites(tuple(self._records.values()), tuple(self._messages), moves)

    def discard(self, writes: RunWrites) -> None:
        """Forget records and messages that are committed."""
        with self._lock:
            self._records = {key: write for key, write in self._records.items() if write not in writes.records}
            del self._messages[: len(writes.messages)]
            self.commits += 1


def _ranges(numbers: set[int]) -> tuple[tuple[int, int], ...]:
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number, number))
    return tuple(ranges)


class RunMessages:
    """Implements `ports/target.py` RunMessages for one run; built on first use."""

    def __init__(
        self,
        store: Messages,
        run: RunContext,
        now: Callable[[], datetime],
        load_quota: Callable[[], Awaitable[StreamQuota]] | None = None,
        on_commit: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._run = run
        self._now = now
        self._load_quota = load_quota
        self._on_commit = on_commit
        self._quota: StreamQuota | None = None
        self.staged = StagedWrites()

    async def load_quota(self) -> StreamQuota:
        """Return the limits of the owner's streams, read once for each run."""
        if self._quota is None:
            try:
                self._quota = DEFAULT_QUOTA if self._load_quota is None else await self._load_quota()
            except StoreError as error:  # the settlement is tried again until the store answers
                LOG.warning("the quotas of %s cannot be read, the usual ones count: %s", self._run.run.owner, error)
                return DEFAULT_QUOTA
        return self._quota

    def collect(self, now: datetime) -> RunWrites | None:
        """Return all writes with the quota that was read; None if there are none."""
        writes = self.staged.collect(now)
        return writes if writes is None or self._quota is None else writes._replace(quota=self._quota)

    async def read(
        self, stream: str, *, reader: str = DEFAULT_READER, after: int | None = None, limit: int = 50
    ) -> MessagePage:
        owner, name = account_of(self._run.run.owner), check_stream_name(stream)
        if after is not None:
            page = await self._store.read_messages(owner, name, after, limit)
        else:
            page = await self._store.read_messages(owner, name, 0, limit, check_reader(reader))
            if page is None:  # reading alone writes nothing: the reader is registered by its first read
                quota = await self.load_quota()
                await self._store.register_reader(owner, name, reader, 0, self._now(), quota=quota)
                page = await self._store.read_messages(owner, name, 0, limit, reader)
        if page is None:
            raise refuse("no_such_stream", name=name)
        return page

    def send(
        self,
        stream: str,
        text: str,
        *,
        sender: str = "",
        id: str | None = None,  # noqa: A002 - the field of a message
        references: Sequence[Any] = (),
        source: str = RUN_SOURCE,
    ) -> None:
        run, now = self._run.run, self._now()
        encoded = encode_references(list(references))

        def build(place: int) -> NewMessage:
            source_id = f"{self._run.key}:{place}" if id is None else id
            return NewMessage(stream, text, sender or run.task_id, source, source_id, now, encoded)

        self.staged.add_message(build)

    def acknowledge(self, stream: str, *numbers: int, reader: str = DEFAULT_READER) -> None:
        self.staged.acknowledge(check_stream_name(stream), check_reader(reader), numbers)

    def attach(self, records: Sequence[RecordWrite]) -> None:
        self.staged.add_records(records)

    async def commit(self) -> None:
        if self.staged.has_messages:
            await self.load_quota()
        writes = self.collect(self._now())
        if writes is None:
            return
        check_writes(writes)
        run = self._run.run
        if not await self._store.commit_writes(run.id, run.token, writes):
            raise refuse("run_not_live", run=run.id)
        self.staged.discard(writes)
        self._on_commit()
