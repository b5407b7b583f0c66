"""Stores with a defect in their records, alone or attached to a change, and the contract tests that must fail on each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from horae.errors import Conflict
from horae.model.change import Change, ControlDecision, Facts, SettleDecision
from horae.model.events.event import Event
from horae.model.gate import GATE_STATE_KIND
from horae.model.outcome import Settlement
from horae.model.page import Page
from horae.model.reason import Reason
from horae.model.record import Record, RecordWrite
from horae.ports.transfer import Part, TransferItem
from horae.stores.memory import MemoryStore
from horae.stores.memory.data import Data
from horae.testing.factories import MICROSECOND


class WritesRecordsOneByOne(MemoryStore):
    """Each record has its own transaction, and a later one may fail."""

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        return all([await super(WritesRecordsOneByOne, self).write_records([each]) for each in writings])


class WritesEventsBeforeTheRecords(MemoryStore):
    """The events are committed before the records, which may then conflict."""

    async def write_with_events(self, writings: Sequence[RecordWrite], events: Sequence[Event]) -> bool:
        await super().write_with_events((), events)
        return await self.write_records(writings)


class WritesRecordsAfterTheChange(MemoryStore):
    """The change is committed before its records, which may then conflict."""

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        attached: list[RecordWrite] = []

        def without(facts: Facts) -> Change:
            change = decide(facts)
            attached.extend(change.attached)
            return change._replace(attached=())

        after = await super().change(task_id, owner, without)
        return after if await self.write_records(attached) else None


class IgnoresRecordConflicts(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data = _ConflictBlindData()


class _ConflictBlindData(Data):
    def attach_records(self, writings: Sequence[RecordWrite]) -> None:
        for writing in writings:
            self.records.write_if_unchanged(writing)


class DropsRecordsOfDeletions(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data = _NoRecordsOfDeletions()


class _NoRecordsOfDeletions(Data):
    def apply(self, task_id: str, change: Change) -> None:
        super().apply(task_id, change._replace(attached=()) if change.deleted else change)


class DropsRecordsOfNewTasks(MemoryStore):
    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        return await super().upsert(
            owner, key, lambda facts: decide(facts)._replace(attached=()) if facts is None else decide(facts)
        )


class BlocksOwnersWithoutRecords(MemoryStore):
    async def block_owner(
        self, owner: str, reason: Reason | None, *, attached_records: Sequence[RecordWrite] = ()
    ) -> None:
        await super().block_owner(owner, reason, attached_records=() if reason is None else attached_records)


class WritesRecordsOfRefusedDrains(MemoryStore):
    async def drain(self, node: str, *, draining: bool = True, attached_records: Sequence[RecordWrite] = ()) -> bool:
        await self.write_records(attached_records)
        return await super().drain(node, draining=draining)


class RefusesTheRequestAfterAConflict(MemoryStore):
    """A conflict also refuses the next request."""

    _late = False

    async def add(self, changes: Sequence[Change]) -> None:
        if self._late:
            self._late = False
            changes = [change._replace(attached=change.attached * 2) for change in changes]
        try:
            await super().add(changes)
        except Conflict:
            self._late = not self._late
            raise


class ExpiresRecordsTooSoon(MemoryStore):
    async def drop_expired(self, now: datetime, limit: int) -> int:
        return await super().drop_expired(now + MICROSECOND, limit)


class ExpiresRecordsTooLate(MemoryStore):
    async def drop_expired(self, now: datetime, limit: int) -> int:
        return await super().drop_expired(now - MICROSECOND, limit)


class IgnoresThePurgeLimit(MemoryStore):
    async def drop_expired(self, now: datetime, limit: int) -> int:
        return await super().drop_expired(now, limit * 1_000)


class KeepsTheFirstExpiry(MemoryStore):
    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        known = await self.get_record(record.kind, record.key)
        return await super().put_record(
            record._replace(expires=known.expires) if known else record, replacing=replacing
        )


class ReversesLaterPages(MemoryStore):
    """The first page is newest first, later pages are oldest first."""

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100, *, newest: bool = False
    ) -> Page[Record]:
        return await super().records(kind, owner, after, limit, newest=newest and after is None)


class ImportsRecordsWithoutExpiry(MemoryStore):
    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        lasting = [each._replace(expires=None) if isinstance(each, Record) else each for each in parcels]
        await super().import_page(part, lasting)


class WritesGateStatesBeforeTheSettlement(MemoryStore):
    """The state of a gate has a transaction of its own: it is there although the settlement is not."""

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        for report in batch:
            run = await self.run(report.run_id, None)
            verdict = report.gate
            if run is not None and verdict is not None and verdict.state is not None:
                record = Record(GATE_STATE_KIND, run.task_id, run.owner, verdict.state)
                await self.put_record(record, replacing=verdict.version)
        plain = [report._replace(gate=None) for report in batch]
        return await super().settle(plain, decide)


class KeepsGateStatesOfDeletedTasks(MemoryStore):
    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        record = await self.get_record(GATE_STATE_KIND, task_id)
        after = await super().change(task_id, owner, decide)
        if record is not None and await self.get_record(GATE_STATE_KIND, task_id) is None:
            await self.put_record(record, replacing=None)
        return after


RECORDS_DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    WritesEventsBeforeTheRecords: ("test_records_and_events_are_written_together_or_not_at_all",),
    WritesRecordsOneByOne: ("test_a_batch_of_record_writes_is_all_or_nothing",),
    WritesRecordsAfterTheChange: (
        "test_a_record_version_conflict_rolls_the_change_back",
        "test_one_of_many_changes_with_the_same_record_wins_and_the_others_change_nothing",
    ),
    IgnoresRecordConflicts: (
        "test_a_record_version_conflict_rolls_the_change_back",
        "test_concurrent_adds_with_one_idempotency_record_create_one_task",
        "test_an_attached_record_replaces_or_deletes_the_expected_version",
        "test_one_record_may_be_written_twice_by_one_request",
    ),
    DropsRecordsOfDeletions: ("test_records_are_written_with_each_kind_of_change",),
    DropsRecordsOfNewTasks: ("test_records_are_written_with_each_kind_of_change",),
    BlocksOwnersWithoutRecords: ("test_records_are_written_with_each_kind_of_change",),
    WritesRecordsOfRefusedDrains: ("test_a_change_that_is_not_made_writes_no_record",),
    RefusesTheRequestAfterAConflict: ("test_a_refused_request_does_not_affect_concurrent_requests",),
    WritesGateStatesBeforeTheSettlement: (
        "test_a_stale_settlement_writes_no_gate_state",
        "test_a_settlement_whose_gate_state_was_changed_writes_nothing",
    ),
    KeepsGateStatesOfDeletedTasks: ("test_the_state_of_a_gate_is_deleted_with_its_task",),
    ExpiresRecordsTooSoon: ("test_only_expired_records_are_purged",),
    ExpiresRecordsTooLate: ("test_only_expired_records_are_purged",),
    IgnoresThePurgeLimit: ("test_a_purge_deletes_the_oldest_up_to_its_limit",),
    KeepsTheFirstExpiry: ("test_the_expiry_of_a_record_is_stored_and_replaced_with_it",),
    ReversesLaterPages: ("test_records_are_listed_newest_first_on_request",),
    ImportsRecordsWithoutExpiry: ("test_a_move_copies_everything_unchanged",),
}
