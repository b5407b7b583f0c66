"""Stores with a defect in their messages, and the contract tests that must fail on each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from horae.model.change import SettleDecision
from horae.model.handled import CURSOR_KIND, HANDLED_KIND
from horae.model.messages import (
    DEFAULT_QUOTA,
    Cursor,
    KeepRules,
    MessagePage,
    NewMessage,
    RunWrites,
    StreamQuota,
)
from horae.model.outcome import Settlement
from horae.model.record import RecordWrite
from horae.ports.messages import MessageTrim
from horae.stores.memory import MemoryStore
from horae.stores.memory.messages import MemoryMessageAccess
from horae.stores.messages import StreamWrites, write_streams
from horae.stores.run_to_end import run_to_end


class _MovesAlone(MemoryStore):
    def move(self, writes: RunWrites | None) -> None:
        moves: Any = () if writes is None else writes.moves
        with self._data.transaction():
            run_to_end(write_streams(MemoryMessageAccess(self._data), [StreamWrites("ada", moves=moves)]))


class MovesCursorsBeforeTheSettlement(_MovesAlone):
    """The cursor moves although its settlement is stale, or writes nothing."""

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        for each in batch:
            self.move(each.writes)
        return await super().settle(batch, decide)


class MovesCursorsWithoutFence(_MovesAlone):
    async def commit_writes(self, run_id: str, token: int, writes: RunWrites) -> bool:
        self.move(writes)
        return await super().commit_writes(run_id, token, writes)


class ForgetsSourceIds(MemoryStore):
    async def append_messages(
        self,
        owner: str,
        messages: Sequence[NewMessage],
        quota: StreamQuota = DEFAULT_QUOTA,
        attached_records: Sequence[RecordWrite] = (),
    ) -> tuple[int, ...]:
        numbers = await super().append_messages(owner, messages, quota, attached_records)
        for key in self._data.messages.numbers.all_keys():
            with self._data.transaction():
                self._data.messages.numbers.write(key, None)
        return numbers


class MovesCursorsByReading(MemoryStore):
    async def read_messages(
        self, owner: str, stream: str, after: int = 0, limit: int = 50, reader: str | None = None
    ) -> MessagePage | None:
        page = await super().read_messages(owner, stream, after, limit, reader)
        if page is not None and reader is not None and page.messages:
            state = self._data.messages.streams[owner, stream]
            moved = (Cursor(reader, page.messages[-1].number, page.stream.created),)
            with self._data.transaction():
                self._data.messages.streams.write((owner, stream), state._replace(cursors=moved))
        return page


class RemovesWithoutAGap(MemoryStore):
    async def trim_messages(self, now: datetime, rules: KeepRules, limit: int) -> MessageTrim:
        trimmed = await super().trim_messages(now, rules, limit)
        for key in self._data.messages.streams.all_keys():
            with self._data.transaction():
                self._data.messages.streams.write(key, self._data.messages.streams[key]._replace(gaps=()))
        return trimmed


class ForgetsWhichRunMovedACursor(MemoryStore):
    """The cursor moves with the run, and nothing says which run it was."""

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        stale = await super().settle(batch, decide)
        await self._forget()
        return stale

    async def commit_writes(self, run_id: str, token: int, writes: RunWrites) -> bool:
        is_live = await super().commit_writes(run_id, token, writes)
        await self._forget()
        return is_live

    async def _forget(self) -> None:
        for kind in (HANDLED_KIND, CURSOR_KIND):
            for record in (await self.records(kind)).items:
                await self.drop_record(kind, record.key, record.version)


MESSAGES_DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    MovesCursorsBeforeTheSettlement: (
        "test_a_stale_token_writes_nothing_of_a_settlement",
        "test_a_run_that_was_taken_over_moves_no_cursor",
        "test_a_failed_run_has_handled_nothing",
        "test_a_changed_record_writes_nothing_of_a_settlement",
    ),
    MovesCursorsWithoutFence: ("test_a_run_that_was_taken_over_moves_no_cursor",),
    ForgetsSourceIds: ("test_a_repeated_append_returns_the_first_number", "test_concurrent_repetitions_append_once"),
    MovesCursorsByReading: ("test_reading_moves_no_cursor",),
    ForgetsWhichRunMovedACursor: (
        "test_a_run_knows_the_messages_over_which_it_moved_cursors",
        "test_commits_of_a_live_run_are_written_down_too",
    ),
    RemovesWithoutAGap: ("test_unread_messages_beyond_the_count_leave_a_gap",),
}
