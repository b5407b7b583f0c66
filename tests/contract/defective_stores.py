"""Stores with one plausible mistake each, and the tests of the contract that must notice it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from horae.model.change import Change, ControlDecision, Facts, FireDecision, RunDecision
from horae.model.entry import Entry, Stand
from horae.model.run import Run
from horae.ports.journal import Line
from horae.ports.records import Record
from horae.ports.store import Claim, Trimmed
from horae.stores.memory import MemoryStore
from horae.stores.memory.entries import Entries, key_of
from horae.stores.memory.events import Events
from horae.stores.memory.runs import Runs
from horae.testing.factories import DAY, MICROSECOND


class EarlyByAMicrosecond(MemoryStore):
    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        return await super().claim_due(now + MICROSECOND, node, room, decide)


class LooksAtNoToken(MemoryStore):
    def _held(self, run_id: str, token: int) -> Run | None:
        known = self._data.runs.get(run_id)
        return super()._held(run_id, token if known is None else known.token)


class LooksAtNoEnd(MemoryStore):
    def _held(self, run_id: str, token: int) -> Run | None:
        known = self._data.runs.get(run_id)
        return known if known is not None and known.token == token else None


class NeverFreesASeat(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.runs = _StickySeats(self._data._transaction)


class _StickySeats(Runs):
    def _forget(self, run: Run) -> None:
        super()._forget(run)
        for lane in run.lanes:
            self.seats.add(lane, run.id)


class NumbersEventsAgain(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.events = _RenumberedEvents(self._data._transaction)


class _RenumberedEvents(Events):
    def forget(self, before: datetime, most: int) -> int:
        count = super().forget(before, most)
        self._forgotten = 0
        return count


class KeepsHalfOfWhatFailed(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        forget: Callable[[Callable[[], None]], None] = lambda _: None  # noqa: E731 - the defect itself
        vars(self._data._transaction)["can_be_undone_by"] = forget


class TakesManyOfOneTask(MemoryStore):
    def _slice(self, now: datetime) -> list[Entry]:
        return self._data.entries.due(now, 128)


class ServesTheFirstOwnerAlways(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.entries = _NoTurns(self._data._transaction, self._data.numbers)


class _NoTurns(Entries):
    def in_turn(self, after: str, most: int) -> list[Entry]:
        owner = self._owners[0] if self._owners else after
        return [self[key] for key in self._ready_by_owner[owner].first(most)] if self._owners else []


class CallsTheOldestToASeat(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.entries = _NoPriorities(self._data._transaction, self._data.numbers)


class _NoPriorities(Entries):
    def first_parked(self, lane: str, most: int) -> list[Entry]:
        return sorted(super().first_parked(lane, 1_000), key=lambda entry: entry.due)[: max(0, most)]


class ForgetsWhoWasCalled(MemoryStore):
    """The next in line hears nothing when the entry that was called to a free seat does not take it."""

    def __init__(self) -> None:
        super().__init__()
        write = self._data.entries.write
        self._data._replace_entry = lambda task_id, slot, entry: write((task_id, slot), entry)  # type: ignore[method-assign]


class ClaimsWhatSleeps(MemoryStore):
    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        with self._data.writing():
            for entry in list(self._data.entries):
                self._data.entries.write(key_of(entry), entry._replace(stand=Stand.TIMED))
        return await super().claim_due(now, node, room, decide)


class RecoversTheLiving(MemoryStore):
    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        known = self._data.nodes.get(node)
        return await super().recover(node, renewals if known is None else known.renewals, decide, limit)


class ShowsEverythingToEverybody(MemoryStore):
    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:  # noqa: ARG002
        return await super().change(task_id, None, decide)


class DecidesOnStaleFacts(MemoryStore):
    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        return await super().upsert(owner, key, lambda _: decide(None))


class ForgetsTooMuch(MemoryStore):
    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> Trimmed:
        return await super().trim(before + DAY, keep_runs, limit, after)


class WritesWithoutEnd(MemoryStore):
    async def write_lines(self, lines: Sequence[Line]) -> None:
        for line in lines:
            said = self._data.lines.get(line.run_id) or []
            self._data.lines.write(line.run_id, [*said, line])


class TheLastWriterWins(MemoryStore):
    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        known = self._data.records.get((record.kind, record.key))
        return await super().put_record(record, replacing=known.version if known and replacing else replacing)


DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    EarlyByAMicrosecond: (
        "test_nothing_is_claimed_early_not_even_by_a_microsecond",
        "test_a_slower_clock_does_not_claim_what_a_faster_one_has_seen",
    ),
    LooksAtNoToken: (
        "test_a_stale_token_settles_nothing",
        "test_a_claimed_run_starts_once_and_only_with_its_token",
        "test_what_is_given_back_has_ended_for_its_holder",
    ),
    LooksAtNoEnd: (
        "test_what_was_settled_is_stale_for_whoever_settles_again",
        "test_two_who_settle_at_once_do_it_once",
    ),
    NeverFreesASeat: (
        "test_a_seat_is_free_again_when_its_run_has_ended",
        "test_the_seats_of_a_deleted_task_are_free",
    ),
    NumbersEventsAgain: (
        "test_old_events_go_and_their_numbers_are_never_used_again",
        "test_the_last_number_is_remembered_when_all_events_are_gone",
    ),
    KeepsHalfOfWhatFailed: (
        "test_a_claim_whose_decision_fails_leaves_everything_as_it_was",
        "test_a_batch_whose_decision_fails_settles_nothing",
        "test_tasks_are_added_all_or_none",
    ),
    TakesManyOfOneTask: ("test_at_most_one_entry_of_a_task_is_decided_in_a_slice",),
    ServesTheFirstOwnerAlways: (
        "test_owners_take_turns",
        "test_with_little_room_owners_still_take_turns",
        "test_the_backlog_of_one_owner_does_not_delay_another",
    ),
    CallsTheOldestToASeat: ("test_free_seats_go_by_priority_and_then_by_due",),
    ForgetsWhoWasCalled: (
        "test_whoever_is_called_and_does_not_come_leaves_the_seat_to_the_next",
        "test_a_task_that_is_paused_when_called_leaves_the_seat_to_the_next",
        "test_a_task_that_is_deleted_when_called_leaves_the_seat_to_the_next",
    ),
    ClaimsWhatSleeps: ("test_what_sleeps_is_held_or_parked_is_never_claimed",),
    RecoversTheLiving: ("test_a_node_is_recovered_only_as_long_as_it_stands_still",),
    ShowsEverythingToEverybody: ("test_what_is_somebody_elses_is_as_good_as_not_there",),
    DecidesOnStaleFacts: ("test_an_upsert_edits_what_is_there", "test_many_who_upsert_at_once_end_with_one_task"),
    ForgetsTooMuch: ("test_runs_that_ended_too_long_ago_go",),
    WritesWithoutEnd: ("test_beyond_the_bound_one_last_line_says_that_more_was_said",),
    TheLastWriterWins: (
        "test_a_record_is_replaced_only_at_the_version_that_was_seen",
        "test_of_many_who_replace_at_once_one_wins",
    ),
}
