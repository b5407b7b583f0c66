"""Stores with one plausible defect each, and the contract tests that must fail on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from horae.model.change import Change, ControlDecision, Facts, FireDecision, RunDecision
from horae.model.counts import Counts
from horae.model.entry import Entry, EntryState
from horae.model.lanes.lane import LaneQueue, LaneUse
from horae.model.lanes.route import is_route
from horae.model.page import Page
from horae.model.run import LIVE_STATES, Run
from horae.ports.journal import Line
from horae.ports.records import Record, RecordWrite
from horae.ports.store import Admission, Claim, LeaseRenewal, RunFilter, TaskFilter, TrimResult, WaitingCounts
from horae.stores.memory import MemoryStore
from horae.stores.memory.counts import Counters
from horae.stores.memory.data import Data
from horae.stores.memory.entries import Entries, key_of
from horae.stores.memory.events import Events
from horae.stores.memory.runs import Runs
from horae.testing.factories import DAY, MICROSECOND


class EarlyByAMicrosecond(MemoryStore):
    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        return await super().claim_due(now + MICROSECOND, node, room, decide)


class IgnoresTheToken(MemoryStore):
    def _live_run(self, run_id: str, token: int) -> Run | None:
        known = self._data.runs.get(run_id)
        return super()._live_run(run_id, token if known is None else known.token)


class IgnoresTheEnd(MemoryStore):
    def _live_run(self, run_id: str, token: int) -> Run | None:
        known = self._data.runs.get(run_id)
        return known if known is not None and known.token == token else None


class NeverFreesLaneSlots(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.runs = _NeverFreedSlots(self._data._transaction)


class _NeverFreedSlots(Runs):
    def _unindex_live_run(self, run: Run) -> None:
        super()._unindex_live_run(run)
        for lane in run.lanes:
            self.lane_slots.add(lane, run.id)


class ReusesEventNumbers(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.events = _RenumberedEvents(self._data._transaction)


class _RenumberedEvents(Events):
    def delete_oldest(self, before: datetime, most: int) -> Counter[str]:
        removed = super().delete_oldest(before, most)
        self._last -= removed.total()
        return removed


class SkipsRollback(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        forget: Callable[[Callable[[], None]], None] = lambda _: None  # noqa: E731 - the defect itself
        vars(self._data._transaction)["on_rollback"] = forget


class ClaimsSeveralEntriesOfOneTask(MemoryStore):
    def _select_slice(self, now: datetime) -> list[Entry]:
        return self._data.entries.due(now, 128)


class AlwaysClaimsTheFirstOwner(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.entries = _NoRotation(self._data._transaction, self._data.numbers)


class _NoRotation(Entries):
    def rotate_owners(self, after: str, most: int) -> list[Entry]:
        owner = self._owners[0] if self._owners else after
        return [self[key] for key in self._ready_by_owner[owner].first(most)] if self._owners else []


class IgnoresPriorityInLanes(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.entries = _NoPriorities(self._data._transaction, self._data.numbers)


class _NoPriorities(Entries):
    def first_parked(self, lane: str, most: int, last_owner: str) -> list[Entry]:
        return sorted(super().first_parked(lane, 1_000, last_owner), key=lambda entry: entry.due)[: max(0, most)]


class IgnoresTurnsInLanes(MemoryStore):
    """A free slot of a lane goes by priority, whoever had the last one."""

    def __init__(self) -> None:
        super().__init__()
        self._data.entries = _NoTurns(self._data._transaction, self._data.numbers)


class _NoTurns(Entries):
    def first_parked(self, lane: str, most: int, last_owner: str) -> list[Entry]:  # noqa: ARG002
        return self.parked(lane)[: max(0, most)]


class LetsNewcomersOvertake(MemoryStore):
    """The slot of an unparked entry is taken by an entry that has not waited."""

    def __init__(self) -> None:
        super().__init__()
        lane_use = self._data.lane_use
        self._data.lane_use = lambda name: lane_use(name)._replace(offered=0, has_waiting=False)  # type: ignore[method-assign]


class ForgetsTurnsInLanes(MemoryStore):
    """A run that starts without waiting is not the turn of its owner."""

    def __init__(self) -> None:
        super().__init__()
        self._data._take_turns = lambda task_id, change: None  # type: ignore[method-assign]  # noqa: ARG005


class LosesFreedLaneSlots(MemoryStore):
    """A free lane slot is not offered to the next entry when the first one does not take it."""

    def __init__(self) -> None:
        super().__init__()
        write = self._data.entries.write
        self._data._replace_entry = lambda task_id, slot, entry: write((task_id, slot), entry)  # type: ignore[method-assign]


class ClaimsHeldAndParkedEntries(MemoryStore):
    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        with self._data.transaction():
            for entry in list(self._data.entries):
                self._data.entries.write(key_of(entry), entry._replace(state=EntryState.TIMED))
        return await super().claim_due(now, node, room, decide)


class RecoversLiveNodes(MemoryStore):
    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        known = self._data.nodes.get(node)
        return await super().recover(node, renewals if known is None else known.renewals, decide, limit)


class IgnoresLoadAndOffset(MemoryStore):
    async def renew_lease(
        self,
        node: str,
        now: datetime,
        load: int = 0,  # noqa: ARG002
        offset: timedelta = timedelta(0),  # noqa: ARG002
    ) -> LeaseRenewal:
        return await super().renew_lease(node, now)


class DrainsUntilTheNextRenewal(MemoryStore):
    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        answer = await super().renew_lease(node, now, load, offset)
        await self.drain(node, draining=False)
        return answer


class DrainsEveryNode(MemoryStore):
    async def drain(self, node: str, *, draining: bool = True, attached_records: Sequence[RecordWrite] = ()) -> bool:
        for each in list(self._data.nodes):
            await super().drain(each.id, draining=draining, attached_records=attached_records)
        return node in self._data.nodes


class RenewsTheLeaseOnDrain(MemoryStore):
    async def drain(self, node: str, *, draining: bool = True, attached_records: Sequence[RecordWrite] = ()) -> bool:
        known = self._data.nodes.get(node)
        if known is not None:
            await self.renew_lease(node, known.renewed, known.load, known.offset)
        return await super().drain(node, draining=draining, attached_records=attached_records)


class DrainsAbsentNodes(MemoryStore):
    async def drain(self, node: str, *, draining: bool = True, attached_records: Sequence[RecordWrite] = ()) -> bool:
        await super().drain(node, draining=draining, attached_records=attached_records)
        return True


class ChangesTasksOfAnyOwner(MemoryStore):
    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:  # noqa: ARG002
        return await super().change(task_id, None, decide)


class DecidesOnStaleFacts(MemoryStore):
    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        return await super().upsert(owner, key, lambda _: decide(None))


class TrimsTooMuch(MemoryStore):
    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> TrimResult:
        return await super().trim(before + DAY, keep_runs, limit, after)


class StoresUnlimitedLines(MemoryStore):
    async def write_lines(self, lines: Sequence[Line]) -> None:
        for run_id in {line.run_id for line in lines}:
            written = self._data.lines.get(run_id) or []
            self._data.lines.write(run_id, [*written, *(line for line in lines if line.run_id == run_id)])


class LastWriterWins(MemoryStore):
    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        known = self._data.records.get((record.kind, record.key))
        return await super().put_record(record, replacing=known.version if known and replacing else replacing)


class AdmitsParkedEntries(MemoryStore):
    """Entries parked at a full lane are admitted like entries without a matching route."""

    async def admit(self, routes: Collection[str]) -> Admission:
        lanes = {entry.lane for entry in self._data.entries if entry.state is EntryState.PARKED and entry.lane}
        return await super().admit(lanes if routes else ())


class AdmitsOneAtATime(MemoryStore):
    async def admit(self, routes: Collection[str]) -> Admission:
        return await super().admit(sorted(routes)[:1])


class ChangesDueOnAdmission(MemoryStore):
    async def admit(self, routes: Collection[str]) -> Admission:
        with self._data.transaction():
            for entry in [each for each in self._data.entries if each.lane in routes]:
                self._data.entries.write(key_of(entry), entry._replace(due=entry.due + DAY))
        return await super().admit(routes)


class CountsStrandedAsParked(MemoryStore):
    async def waiting(self, owner: str | None, now: datetime) -> WaitingCounts:
        overdue, parked, stranded = await super().waiting(owner, now)
        return WaitingCounts(overdue, parked + stranded, 0)


class CountsStrandedInLanes(MemoryStore):
    async def lane_queues(self) -> tuple[LaneQueue, ...]:
        stranded = [entry for entry in self._data.entries if is_route(entry.lane)]
        extra = tuple(LaneQueue(str(entry.lane), 1, entry.due) for entry in stranded)
        return (*extra, *await super().lane_queues())


class ListsQueuedByCreation(MemoryStore):
    async def queued(self, lane: str, limit: int = 20) -> tuple[Facts, ...]:
        found = await super().queued(lane, 1_000)
        return tuple(sorted(found, key=lambda facts: self._data.numbers[facts.task.id]))[:limit]


class CountsFutureEntriesAsWaiting(MemoryStore):
    async def waiting(self, owner: str | None, now: datetime) -> WaitingCounts:
        return await super().waiting(owner, now + DAY)


class ListsUpcomingOfEveryOwner(MemoryStore):
    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:  # noqa: ARG002
        return await super().upcoming(None, limit)


class SortsUpcomingByCreation(MemoryStore):
    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        return tuple(sorted(await super().upcoming(owner, limit), key=lambda facts: facts.task.id))


class LimitsUpcomingByEntries(MemoryStore):
    """A task with many entries displaces other tasks from the page."""

    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        found, left = [], 2 * limit
        for facts in await super().upcoming(owner, limit):
            if left > 0:
                found.append(facts)
            left -= len(facts.entries)
        return tuple(found)


class ReturnsTheFirstAttemptAsLatest(MemoryStore):
    async def latest(self, task_ids: Sequence[str]) -> dict[str, Run]:
        newest = await super().latest(task_ids)
        everything = sorted((run for run in self._data.runs), key=lambda run: -run.attempt)
        return {run.task_id: run for run in everything if run.task_id in newest}


class CountsARowTwice(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data = _CountsBeforeDeduplication()


class _CountsBeforeDeduplication(Data):
    def apply(self, task_id: str, change: Change) -> None:
        again = tuple(run for run in change.new_runs if run.id in self.runs)
        if again:
            self._count(task_id, Change(new_runs=again))
        super().apply(task_id, change)


class WritesARowTwice(MemoryStore):
    """A new run with the id of an existing one overwrites it."""

    def __init__(self) -> None:
        super().__init__()
        self._data = _NoDeduplication()


class _NoDeduplication(Data):
    def deduplicate_runs(self, change: Change) -> Change:
        return change


class CountsNothingForAllOwners(MemoryStore):
    """Counts over all owners are empty."""

    async def counts(self, owner: str | None, hours: Collection[int]) -> Counts:
        return {} if owner is None else await super().counts(owner, hours)


class CountsASpanOnce(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.counters = _CountsOnePerSpan(self._data._transaction)


class _CountsOnePerSpan(Counters):
    def add(self, owner: str, added: Iterable[tuple[int, str, int]]) -> None:
        super().add(owner, ((hour, name, max(-1, min(1, number))) for hour, name, number in added))


class NeverDeletesHours(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.counters = _UndeletedHours(self._data._transaction)


class _UndeletedHours(Counters):
    def _delete_old(self, newest: int) -> None:
        pass


class IgnoresDeletionsInCounts(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data = _NoCountsOfDeletions()


class _NoCountsOfDeletions(Data):
    def _count(self, task_id: str, change: Change) -> None:
        if not change.deleted:
            super()._count(task_id, change)


class MatchesCaseSensitively(MemoryStore):
    async def tasks(self, wanted: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        page = await super().tasks(wanted, after, limit)
        matching = [facts for facts in page.items if wanted.text is None or wanted.text in facts.task.name]
        return page._replace(items=tuple(matching))


class MatchesThePrefixAnywhere(MemoryStore):
    async def tasks(self, wanted: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        page = await super().tasks(wanted._replace(prefix=None), after, limit)
        return page._replace(items=tuple(each for each in page.items if (wanted.prefix or "") in each.task.id))


class IgnoresTheKindFilter(MemoryStore):
    async def tasks(self, wanted: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        return await super().tasks(wanted._replace(kind=None), after, limit)


class ListsLiveRunsOfEveryOwner(MemoryStore):
    async def runs(self, wanted: RunFilter, after: str | None = None, limit: int = 100) -> Page[Run]:
        live = wanted.states is not None and wanted.states <= LIVE_STATES
        return await super().runs(wanted._replace(owner=None) if live else wanted, after, limit)


class OmitsEmptyLanes(MemoryStore):
    async def lanes(self) -> tuple[LaneUse, ...]:
        return tuple(lane for lane in await super().lanes() if lane.used)


class MeasuresNoLogLines(MemoryStore):
    async def output_bytes(self, owner: str) -> int:
        lines = [
            line for each in self._data.runs if each.owner == owner for line in self._data.lines.get(each.id) or ()
        ]
        return await super().output_bytes(owner) - sum(len(line.text.encode()) for line in lines)


class LosesInputs(MemoryStore):
    """An entry that is written again, such as one that waits for a lane, loses its input."""

    def __init__(self) -> None:
        super().__init__()
        self._data = _NoInputs()


class _NoInputs(Data):
    def apply(self, task_id: str, change: Change) -> None:
        put = tuple(each._replace(input=None) if each.state is EntryState.HELD else each for each in change.put)
        super().apply(task_id, change._replace(put=put))


class MeasuresNoInputs(MemoryStore):
    async def output_bytes(self, owner: str) -> int:
        inputs = [run.input.text for run in self._data.runs if run.owner == owner and run.input is not None]
        return await super().output_bytes(owner) - sum(len(each.encode()) for each in inputs)


class MeasuresNoErrors(MemoryStore):
    async def output_bytes(self, owner: str) -> int:
        errors = [run.error or "" for run in self._data.runs if run.owner == owner]
        return await super().output_bytes(owner) - sum(len(each.encode()) for each in errors)


class MeasuresCharacters(MemoryStore):
    async def output_bytes(self, owner: str) -> int:
        results = [run.result_json or "" for run in self._data.runs if run.owner == owner]
        return await super().output_bytes(owner) - sum(len(each.encode()) - len(each) for each in results)


class MeasuresEveryOwner(MemoryStore):
    async def output_bytes(self, owner: str) -> int:  # noqa: ARG002
        owners = {task.owner for task in self._data.tasks}
        return sum([await super(MeasuresEveryOwner, self).output_bytes(each) for each in owners])


class MeasuresOnlyUpwards(MemoryStore):
    """A counter that retention and deletion do not decrease."""

    highest = 0

    async def output_bytes(self, owner: str) -> int:
        self.highest = max(self.highest, await super().output_bytes(owner))
        return self.highest


class NamesTasksOfAnyOwner(MemoryStore):
    async def task_names(self, task_ids: Sequence[str], owner: str | None) -> dict[str, str]:  # noqa: ARG002
        return await super().task_names(task_ids, None)


class CountsLinesFromZero(MemoryStore):
    async def last_line(self, run_id: str) -> int:
        return max(0, await super().last_line(run_id) - 1)


DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    NamesTasksOfAnyOwner: ("test_names_of_several_tasks_are_read_at_once",),
    CountsLinesFromZero: ("test_the_last_line_has_the_number_of_lines",),
    EarlyByAMicrosecond: (
        "test_nothing_is_claimed_early_not_even_by_a_microsecond",
        "test_a_slower_clock_does_not_claim_entries_that_a_faster_one_has_queued",
    ),
    IgnoresTheToken: (
        "test_a_stale_token_settles_nothing",
        "test_a_claimed_run_starts_once_and_only_with_its_token",
        "test_a_released_run_is_stale_for_its_node",
    ),
    IgnoresTheEnd: (
        "test_a_settled_run_is_stale_for_a_second_settlement",
        "test_concurrent_settlements_settle_once",
    ),
    NeverFreesLaneSlots: (
        "test_a_lane_slot_is_freed_when_its_run_ends",
        "test_deleting_a_task_frees_its_lane_slots",
    ),
    ReusesEventNumbers: (
        "test_old_events_are_deleted_and_their_numbers_never_reused",
        "test_the_last_event_number_survives_deletion_of_all_events",
    ),
    SkipsRollback: (
        "test_a_rolled_back_change_is_not_counted",
        "test_a_claim_whose_decision_fails_leaves_everything_as_it_was",
        "test_a_batch_whose_decision_fails_settles_nothing",
        "test_tasks_are_added_all_or_none",
    ),
    ClaimsSeveralEntriesOfOneTask: ("test_a_claim_batch_decides_at_most_one_entry_of_a_task",),
    AlwaysClaimsTheFirstOwner: (
        "test_owners_are_claimed_round_robin",
        "test_owners_are_claimed_round_robin_across_small_claims",
        "test_the_backlog_of_one_owner_does_not_delay_another",
    ),
    IgnoresPriorityInLanes: ("test_free_lane_slots_are_given_by_priority_then_by_due_instant",),
    IgnoresTurnsInLanes: (
        "test_owners_take_turns_in_a_lane",
        "test_several_free_slots_are_shared_by_the_owners",
        "test_an_entry_that_was_parked_again_too_often_goes_first",
    ),
    LetsNewcomersOvertake: ("test_a_newcomer_does_not_overtake_those_that_wait",),
    ForgetsTurnsInLanes: ("test_owners_take_turns_in_a_lane",),
    LosesFreedLaneSlots: (
        "test_an_unparked_entry_that_is_skipped_leaves_the_slot_to_the_next",
        "test_an_unparked_entry_of_a_paused_task_leaves_the_slot_to_the_next",
        "test_an_unparked_entry_of_a_deleted_task_leaves_the_slot_to_the_next",
    ),
    ClaimsHeldAndParkedEntries: ("test_sleeping_held_and_parked_entries_are_not_claimed",),
    RecoversLiveNodes: ("test_a_node_that_renewed_meanwhile_is_not_recovered",),
    IgnoresLoadAndOffset: ("test_the_fields_of_a_node_are_visible_to_other_nodes",),
    DrainsUntilTheNextRenewal: ("test_a_renewal_reports_that_the_node_is_draining",),
    DrainsEveryNode: ("test_a_renewal_reports_that_the_node_is_draining",),
    RenewsTheLeaseOnDrain: ("test_a_draining_node_keeps_its_lease",),
    DrainsAbsentNodes: ("test_an_absent_node_cannot_be_drained",),
    ChangesTasksOfAnyOwner: ("test_a_task_of_another_owner_is_none",),
    DecidesOnStaleFacts: ("test_an_upsert_edits_an_existing_task", "test_concurrent_upserts_create_one_task"),
    TrimsTooMuch: ("test_runs_that_ended_before_the_cutoff_are_deleted",),
    StoresUnlimitedLines: ("test_lines_beyond_the_limit_are_replaced_by_one_truncation_mark",),
    LastWriterWins: (
        "test_a_record_is_replaced_only_at_the_expected_version",
        "test_one_of_many_concurrent_replacements_wins",
    ),
    AdmitsParkedEntries: (
        "test_admitting_a_route_unparks_its_entries_only",
        "test_admitting_a_route_does_not_unpark_entries_of_a_full_lane",
    ),
    AdmitsOneAtATime: ("test_several_routes_are_admitted_in_one_call",),
    ChangesDueOnAdmission: ("test_an_admitted_entry_is_unchanged",),
    CountsStrandedAsParked: ("test_waiting_entries_are_counted_by_cause",),
    CountsStrandedInLanes: ("test_waiting_entries_are_counted_and_listed_by_lane",),
    ListsQueuedByCreation: ("test_waiting_entries_are_counted_and_listed_by_lane",),
    CountsFutureEntriesAsWaiting: ("test_waiting_entries_are_counted_by_cause",),
    ListsUpcomingOfEveryOwner: ("test_upcoming_tasks_are_filtered_by_owner",),
    SortsUpcomingByCreation: ("test_upcoming_tasks_are_sorted_by_due_instant",),
    LimitsUpcomingByEntries: ("test_a_task_with_many_entries_is_upcoming_once",),
    ReturnsTheFirstAttemptAsLatest: (
        "test_the_last_attempt_of_an_instant_is_the_latest_run",
        "test_the_latest_run_of_each_task_is_returned",
    ),
    CountsARowTwice: ("test_a_run_that_exists_already_is_not_counted_again",),
    WritesARowTwice: ("test_a_change_that_repeats_a_run_is_applied_without_it",),
    CountsNothingForAllOwners: ("test_tasks_are_counted_by_owner_and_state",),
    CountsASpanOnce: ("test_a_span_counts_as_many_occurrences_as_it_covers",),
    NeverDeletesHours: (
        "test_lateness_is_deleted_after_two_days_and_outcomes_and_state_counts_are_not",
        "test_outcomes_are_deleted_after_two_months",
    ),
    IgnoresDeletionsInCounts: (
        "test_a_deleted_task_is_not_counted_but_its_runs_are",
        "test_a_task_deleted_by_retention_is_not_counted",
    ),
    MatchesCaseSensitively: ("test_tasks_are_found_by_part_of_their_name",),
    MatchesThePrefixAnywhere: ("test_tasks_are_found_by_id_prefix",),
    IgnoresTheKindFilter: (
        "test_tasks_are_found_by_the_kind_of_their_target",
        "test_name_kind_and_prefix_filters_combine_with_all_others",
    ),
    ListsLiveRunsOfEveryOwner: ("test_filters_by_state_combine_with_all_other_filters",),
    OmitsEmptyLanes: ("test_lanes_with_a_limit_or_a_live_run_are_listed",),
    MeasuresNoLogLines: (
        "test_results_errors_and_lines_count_by_their_utf8_bytes",
        "test_lines_of_a_run_that_is_still_running_count",
    ),
    LosesInputs: ("test_a_waiting_entry_keeps_its_input_and_another_entry_in_its_slot_has_its_own",),
    MeasuresNoInputs: ("test_inputs_count_as_stored_bytes",),
    MeasuresNoErrors: ("test_results_errors_and_lines_count_by_their_utf8_bytes",),
    MeasuresCharacters: ("test_results_errors_and_lines_count_by_their_utf8_bytes",),
    MeasuresEveryOwner: ("test_output_of_other_owners_does_not_count",),
    MeasuresOnlyUpwards: (
        "test_retention_lowers_the_output_bytes",
        "test_deletion_of_a_task_lowers_the_output_bytes",
    ),
}
