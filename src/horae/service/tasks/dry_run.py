"""Store wrapper for a dry run: every decision and check is made on the real data, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, cast

from ...lifecycle.messages import append_messages, check_usage, register_reader
from ...model.change import Change, ControlDecision, Facts, facts_after
from ...model.messages import DEFAULT_QUOTA, Cursor, NewMessage, Stream, StreamQuota
from ...model.reason import Reason
from ...model.refusals import refuse
from ...model.task import NEW_TASK_STATUS
from ...ports.full_store import FullStore
from ...ports.records import Record, RecordWrite

READS: Final = frozenset(
    {
        "check",
        "count_parts",
        "count_tasks",
        "counts",
        "events",
        "export_page",
        "facts",
        "find",
        "get_record",
        "held",
        "kind",
        "lane_line",
        "lane_queues",
        "lane_runs",
        "lanes",
        "last_event",
        "last_line",
        "latest",
        "lines",
        "newest_progress",
        "next_due",
        "nodes",
        "outcomes",
        "output_bytes",
        "owner_event_counts",
        "queued",
        "read_messages",
        "read_metadata",
        "records",
        "run",
        "run_ids",
        "runs",
        "shares_transactions",
        "stranded",
        "stream",
        "stream_usage",
        "streams",
        "chain",
        "chain_rows",
        "task_ids",
        "task_names",
        "tasks",
        "upcoming",
        "waiting",
    }
)
"""Store operations that a dry run passes to the real store. Any other one is decided and discarded here, or refused."""


def make_dry_run_store(store: FullStore) -> FullStore:
    """Wrap a store so that reads pass through and writes are decided and discarded."""
    return cast(FullStore, _DryRunStore(store))


class _DryRunStore:
    def __init__(self, store: FullStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name not in READS:
            raise AttributeError(f"a dry run has no store operation {name!r}", name=name, obj=self)
        return getattr(self._store, name)

    async def add(self, changes: Sequence[Change]) -> None:
        for change in changes:
            task = change.task
            if task is not None and task.key is not None and await self._store.find(task.owner, task.key):
                raise refuse("key_taken", key=task.key)

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        current = await self._store.facts(task_id, owner)
        return None if current is None else facts_after(current, decide(current))

    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        current = await self._store.find(owner, key)
        change = decide(current)
        if current is None and change.task is not None:
            current = Facts(change.task, NEW_TASK_STATUS)
        if current is None:
            raise refuse("no_such_task", id=key)
        return facts_after(current, change)

    async def settle(self, *_: object) -> frozenset[str]:
        return frozenset()

    async def drain(self, node: str, **_: object) -> bool:
        return any(each.id == node for each in await self._store.nodes())

    async def set_lane(self, name: str, limit: int | None, **_: object) -> None: ...

    async def block_owner(self, owner: str, reason: Reason | None, **_: object) -> None: ...

    async def write_metadata(self, name: str, value: str) -> None: ...

    async def write_lines(self, lines: Sequence[object]) -> None: ...

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        return await self._is_current(record, replacing)

    async def drop_record(self, kind: str, key: str, version: int) -> bool:
        known = await self._store.get_record(kind, key)
        return known is not None and known.version == version

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        return all([await self._is_current(each.record, each.replacing) for each in writings])

    async def write_with_events(self, writings: Sequence[RecordWrite], _events: object) -> bool:
        return await self.write_records(writings)

    async def append_messages(
        self, owner: str, messages: Sequence[NewMessage], quota: StreamQuota = DEFAULT_QUOTA, _records: object = ()
    ) -> tuple[int, ...]:
        usage = await self._store.stream_usage(owner)
        streams: dict[str, Stream] = {}
        numbers: list[int] = []
        for message in messages:
            if message.stream not in streams:
                state = await self._store.stream(owner, message.stream)
                streams[message.stream] = Stream(owner, message.stream, message.at) if state is None else state.stream
                usage = usage._replace(streams=usage.streams + (state is None))
            append = append_messages(streams[message.stream], [message], {}, quota)
            streams[message.stream] = append.stream
            usage = usage._replace(bytes=usage.bytes + message.size)
            numbers += append.numbers
        check_usage(owner, usage, quota)
        return tuple(numbers)

    async def put_stream(self, stream: Stream, quota: StreamQuota = DEFAULT_QUOTA, _records: object = ()) -> Stream:
        state = await self._store.stream(stream.owner, stream.name)
        if state is not None:
            return state.stream._replace(keep=stream.keep, keep_for=stream.keep_for)
        usage = await self._store.stream_usage(stream.owner)
        check_usage(stream.owner, usage._replace(streams=usage.streams + 1), quota)
        return stream

    async def delete_stream(self, owner: str, name: str, _records: object = ()) -> bool:
        return await self._store.stream(owner, name) is not None

    async def register_reader(
        self,
        owner: str,
        stream: str,
        reader: str,
        after: int | None,
        now: datetime,
        _records: object = (),
        *,
        quota: StreamQuota = DEFAULT_QUOTA,
    ) -> Cursor | None:
        state = await self._store.stream(owner, stream)
        return None if state is None else register_reader(state, reader, after, now, quota)

    async def remove_reader(self, owner: str, stream: str, reader: str, _records: object = ()) -> bool:
        state = await self._store.stream(owner, stream)
        return state is not None and any(cursor.reader == reader for cursor in state.cursors)

    async def _is_current(self, record: Record, replacing: int | None) -> bool:
        known = await self._store.get_record(record.kind, record.key)
        return (None if known is None else known.version) == replacing
