"""Stores that keep records carelessly, alone or beside a change, and the tests of the contract that must notice it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from horae.errors import Conflict
from horae.model.change import Change, ControlDecision, Facts
from horae.model.page import Page
from horae.model.reason import Reason
from horae.model.record import Record, RecordWrite
from horae.ports.transfer import Part, TransferItem
from horae.stores.memory import MemoryStore
from horae.stores.memory.data import Data
from horae.testing.factories import MICROSECOND


class WritesThemBeforeItKnows(MemoryStore):
    """Each in a transaction of its own: what comes after it may fail."""

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        return all([await super(WritesThemBeforeItKnows, self).write_records([each]) for each in writings])


class WritesThemAfterwards(MemoryStore):
    """The change is there, and then somebody else may have been faster with the record."""

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        beside: list[RecordWrite] = []

        def without(facts: Facts) -> Change:
            change = decide(facts)
            beside.extend(change.attached)
            return change._replace(attached=())

        after = await super().change(task_id, owner, without)
        return after if await self.write_records(beside) else None


class OverlooksThatOneWasFaster(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data = _Trusting()


class _Trusting(Data):
    def attach_records(self, writings: Sequence[RecordWrite]) -> None:
        for writing in writings:
            self.records.write_if_unchanged(writing)


class ForgetsWhatStandsBesideADeletion(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data = _Forgetful()


class _Forgetful(Data):
    def apply(self, task_id: str, change: Change) -> None:
        super().apply(task_id, change._replace(attached=()) if change.deleted else change)


class ForgetsThemForNewTasks(MemoryStore):
    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        return await super().upsert(
            owner, key, lambda facts: decide(facts)._replace(attached=()) if facts is None else decide(facts)
        )


class BarsWithoutARecord(MemoryStore):
    async def block_owner(
        self, owner: str, reason: Reason | None, *, attached_records: Sequence[RecordWrite] = ()
    ) -> None:
        await super().block_owner(owner, reason, attached_records=() if reason is None else attached_records)


class RecordsWhatDidNotHappen(MemoryStore):
    async def drain(self, node: str, *, draining: bool = True, attached_records: Sequence[RecordWrite] = ()) -> bool:
        await self.write_records(attached_records)
        return await super().drain(node, draining=draining)


class RefusesEverybody(MemoryStore):
    """One who was too late takes the next request with it."""

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


class DropsThemTooSoon(MemoryStore):
    async def drop_expired(self, now: datetime, limit: int) -> int:
        return await super().drop_expired(now + MICROSECOND, limit)


class DropsThemTooLate(MemoryStore):
    async def drop_expired(self, now: datetime, limit: int) -> int:
        return await super().drop_expired(now - MICROSECOND, limit)


class DropsAllAtOnce(MemoryStore):
    async def drop_expired(self, now: datetime, limit: int) -> int:
        return await super().drop_expired(now, limit * 1_000)


class KeepsTheFirstExpiry(MemoryStore):
    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        known = await self.get_record(record.kind, record.key)
        return await super().put_record(
            record._replace(expires=known.expires) if known else record, replacing=replacing
        )


class TurnsPagesTheOldWay(MemoryStore):
    """The first page goes backwards, and the next one forwards again."""

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100, *, newest: bool = False
    ) -> Page[Record]:
        return await super().records(kind, owner, after, limit, newest=newest and after is None)


class CarriesThemForEver(MemoryStore):
    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        lasting = [each._replace(expires=None) if isinstance(each, Record) else each for each in parcels]
        await super().import_page(part, lasting)


RECORDS_DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    WritesThemBeforeItKnows: ("test_of_several_all_are_written_or_none",),
    WritesThemAfterwards: (
        "test_whoever_was_slower_with_a_record_has_changed_nothing",
        "test_of_many_with_the_same_record_one_wins_and_the_others_change_nothing",
    ),
    OverlooksThatOneWasFaster: (
        "test_whoever_was_slower_with_a_record_has_changed_nothing",
        "test_one_who_makes_a_task_twice_at_once_makes_it_once",
        "test_a_record_beside_a_change_replaces_or_drops_the_version_that_was_seen",
        "test_one_record_may_be_written_twice_by_one_request",
    ),
    ForgetsWhatStandsBesideADeletion: ("test_records_come_with_whatever_they_stand_beside",),
    ForgetsThemForNewTasks: ("test_records_come_with_whatever_they_stand_beside",),
    BarsWithoutARecord: ("test_records_come_with_whatever_they_stand_beside",),
    RecordsWhatDidNotHappen: ("test_where_nothing_happens_no_record_says_so",),
    RefusesEverybody: ("test_a_request_that_is_refused_takes_no_other_with_it",),
    DropsThemTooSoon: ("test_what_has_expired_goes_and_all_else_stays",),
    DropsThemTooLate: ("test_what_has_expired_goes_and_all_else_stays",),
    DropsAllAtOnce: ("test_the_oldest_go_first_and_no_more_than_were_asked_for",),
    KeepsTheFirstExpiry: ("test_when_a_record_may_go_is_kept_and_replaced_with_it",),
    TurnsPagesTheOldWay: ("test_the_newest_come_first_where_that_is_asked_for",),
    CarriesThemForEver: ("test_everything_arrives_as_it_was",),
}
