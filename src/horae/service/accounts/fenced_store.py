"""Store wrapper of the service: refuses what is written for an owner that moves to another deployment.

The engine works on the store itself: runs that go on while their owner begins to move are recorded as always.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, Final, cast

from ...model.accounts.account import OWNER_KIND, TOKEN_KIND
from ...model.accounts.session import CALENDAR_TOKEN_KIND
from ...model.change import Change, ControlDecision, Facts
from ...model.events.event import Event
from ...model.messages import DEFAULT_QUOTA, Cursor, NewMessage, Stream, StreamQuota
from ...ports.full_store import FullStore
from ...ports.records import Record, RecordWrite
from .owner_moves import OwnerMoves, refuse_moving
from .secret_grants import SECRET_KIND
from .views import VIEW_KIND

FENCED_KINDS: Final = frozenset({OWNER_KIND, TOKEN_KIND, CALENDAR_TOKEN_KIND, SECRET_KIND, VIEW_KIND})
"""Records that only requests write. A node writes others by itself while their owner moves, and the move copies them again."""


def make_fenced_store(store: FullStore, moves: OwnerMoves) -> FullStore:
    return cast(FullStore, _FencedStore(store, moves))


class _FencedStore:
    def __init__(self, store: FullStore, moves: OwnerMoves) -> None:
        self._store = store
        self._moves = moves

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def add(self, changes: Sequence[Change]) -> None:
        await self._moves.check_writes(_owners_of(changes))
        await self._store.add(changes)

    async def add_using(self, connection: object, changes: Sequence[Change], on_end: Callable[[], None]) -> None:
        await self._moves.check_writes(_owners_of(changes))
        await self._store.add_using(connection, changes, on_end)

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        moves = await self._moves.under_way()
        if not moves:
            return await self._store.change(task_id, owner, decide)

        def decide_unless_moving(facts: Facts) -> Change:
            refuse_moving(moves, facts.task.owner)
            return decide(facts)

        return await self._store.change(task_id, owner, decide_unless_moving)

    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        await self._moves.check_writes((owner,))
        return await self._store.upsert(owner, key, decide)

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        await self._check_records((record,))
        return await self._store.put_record(record, replacing=replacing)

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        await self._check_records([each.record for each in writings])
        return await self._store.write_records(writings)

    async def write_with_events(self, writings: Sequence[RecordWrite], events: Sequence[Event]) -> bool:
        await self._check_records([each.record for each in writings])
        return await self._store.write_with_events(writings, events)

    async def append_messages(
        self,
        owner: str,
        messages: Sequence[NewMessage],
        quota: StreamQuota = DEFAULT_QUOTA,
        attached_records: Sequence[RecordWrite] = (),
    ) -> tuple[int, ...]:
        await self._moves.check_writes((owner,))
        return await self._store.append_messages(owner, messages, quota, attached_records)

    async def put_stream(
        self, stream: Stream, quota: StreamQuota = DEFAULT_QUOTA, attached_records: Sequence[RecordWrite] = ()
    ) -> Stream:
        await self._moves.check_writes((stream.owner,))
        return await self._store.put_stream(stream, quota, attached_records)

    async def delete_stream(self, owner: str, name: str, attached_records: Sequence[RecordWrite] = ()) -> bool:
        await self._moves.check_writes((owner,))
        return await self._store.delete_stream(owner, name, attached_records)

    async def register_reader(  # noqa: PLR0913 - the parameters of the port
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
        await self._moves.check_writes((owner,))
        return await self._store.register_reader(owner, stream, reader, after, now, attached_records, quota=quota)

    async def remove_reader(
        self, owner: str, stream: str, reader: str, attached_records: Sequence[RecordWrite] = ()
    ) -> bool:
        await self._moves.check_writes((owner,))
        return await self._store.remove_reader(owner, stream, reader, attached_records)

    async def _check_records(self, records: Sequence[Record]) -> None:
        owners = {record.owner for record in records if record.kind in FENCED_KINDS}
        if owners:
            await self._moves.check_writes(owners)


def _owners_of(changes: Sequence[Change]) -> Collection[str]:
    return {change.task.owner for change in changes if change.task is not None}
