"""Stores with defects of chains and gates, each with the contract tests that notice it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from horae.model.chain_row import ChainRow
from horae.model.change import Change, SettleDecision
from horae.model.gate import GATE_STATE_KIND
from horae.model.origin import RootOccurrence
from horae.model.outcome import Settlement
from horae.model.record import RecordWrite
from horae.model.task import Task
from horae.ports.store import LinkObserver
from horae.stores.chains import Relink, follow_chains, relink
from horae.stores.memory import MemoryStore
from horae.stores.memory.chains import MemoryChainAccess
from horae.stores.memory.data import Data

from .defective_stores import IgnoresTheToken


class _OwnChains(MemoryStore):
    """Follows chains with another access, or other links."""

    access: ClassVar[type[MemoryChainAccess]] = MemoryChainAccess
    follows_ends: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        vars(self._data)["_follow_chains"] = self._follow_own

    def keeps(self, relinked: Relink) -> bool:  # noqa: ARG002
        return True

    async def _follow_own(self) -> None:
        access = self.access(self._data)
        ends = list(self._data._ends)
        for relinked in filter(self.keeps, self._data._relinks):
            ends += await relink(access, relinked)
        if self.follows_ends:
            await follow_chains(access, ends)


class FollowsNoChain(_OwnChains):
    follows_ends = False


class _WithoutRows(MemoryChainAccess):
    async def row(self, task_id: str, root: RootOccurrence) -> ChainRow | None:  # noqa: ARG002
        return None


class ForgetsWhatHasFired(_OwnChains):
    access = _WithoutRows


class _RowsByPlanned(MemoryChainAccess):
    async def row(self, task_id: str, root: RootOccurrence) -> ChainRow | None:
        rows = self._data.chain_rows.of_task(task_id)
        return next((row for row in rows if row.root.planned == root.planned), None)


class TakesRootsOfOneInstantForOne(_OwnChains):
    access = _RowsByPlanned


class _WithoutLast(MemoryChainAccess):
    async def last_planned(self, task_id: str) -> None:  # noqa: ARG002
        return None


class GivesTwoRootsOneInstant(_OwnChains):
    access = _WithoutLast


class _FiredRowsOnly(MemoryChainAccess):
    def apply(self, task_id: str, change: Change) -> None:
        super().apply(
            task_id, change._replace(chain_rows=change.chain_rows[:0] if not change.put else change.chain_rows)
        )


class ForgetsSkippedRoots(_OwnChains):
    """Keeps a row only for a link that has fired."""

    access = _FiredRowsOnly


class KeepsLinksOfCancelledTasks(_OwnChains):
    def keeps(self, relinked: Relink) -> bool:
        return not relinked.cancelled


class IgnoresEditedLinks(_OwnChains):
    def keeps(self, relinked: Relink) -> bool:
        return relinked.before is None or relinked.after is None or relinked.cancelled


class IgnoresDeletedPredecessors(_OwnChains):
    def keeps(self, relinked: Relink) -> bool:
        return relinked.after is not None


class _FirstDefinitions(MemoryChainAccess):
    """Each task as it was made: what was linked with it since is not seen."""

    known: ClassVar[dict[str, Task]] = {}

    async def definitions(self, task_ids: Sequence[str]) -> list[Task]:
        return [self.known.setdefault(task.id, task) for task in await super().definitions(task_ids)]


class ChecksLinksBeforeTheLock(_OwnChains):
    """Checks new links against definitions that were read before another edit of links."""

    access = _FirstDefinitions

    def keeps(self, relinked: Relink) -> bool:
        if relinked.after is not None:
            _FirstDefinitions.known.setdefault(relinked.after.id, relinked.before or relinked.after)
        return True


class _FirstRows(MemoryChainAccess):
    """Each row as the first predecessor left it."""

    known: ClassVar[dict[tuple[str, RootOccurrence], ChainRow]] = {}

    async def row(self, task_id: str, root: RootOccurrence) -> ChainRow | None:
        row = await super().row(task_id, root)
        return None if row is None else self.known.setdefault((task_id, root), row)


class CompletesJoinsFromOldRows(_OwnChains):
    """A settlement reads the row of a join before the settlement of another predecessor has written it."""

    access = _FirstRows


class ReportsNoLinks(MemoryStore):
    def observe_links(self, observer: LinkObserver) -> None: ...


class SettlesOneByOne(MemoryStore):
    """A crash between two settlements leaves one of them, and its link, alone."""

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        stale = frozenset[str]()
        for settlement in batch:
            stale |= await super().settle([settlement], decide)
        return stale


# --- gates ---------------------------------------------------------------------------------------------------------


class _OwnGateStates(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        attach: Callable[[Sequence[RecordWrite]], None] = self._data.attach_records
        vars(self._data)["attach_records"] = lambda writings: attach([*self.changed(writings)])

    def changed(self, writings: Sequence[RecordWrite]) -> Sequence[RecordWrite]:
        return writings


def _is_state(writing: RecordWrite) -> bool:
    return writing.record.kind == GATE_STATE_KIND


class DropsGateStates(_OwnGateStates):
    def changed(self, writings: Sequence[RecordWrite]) -> Sequence[RecordWrite]:
        return [each for each in writings if not _is_state(each)]


class OverwritesGateStates(_OwnGateStates):
    def changed(self, writings: Sequence[RecordWrite]) -> Sequence[RecordWrite]:
        return [self._current(each) if _is_state(each) else each for each in writings]

    def _current(self, writing: RecordWrite) -> RecordWrite:
        known = self._data.records.get((writing.record.kind, writing.record.key))
        return writing._replace(replacing=None if known is None else known.version)


class KeepsGateStatesOfDeletedTasks(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        vars(self._data)["_delete"] = self._delete_but_keep

    def _delete_but_keep(self, task_id: str) -> None:
        key = (GATE_STATE_KIND, task_id)
        state = self._data.records.get(key)
        Data._delete(self._data, task_id)
        if state is not None:
            self._data.records.write(key, state)


class ForgetsTheVerdict(MemoryStore):
    """The entry of a retry has no input, and so asks the gate again."""

    def __init__(self) -> None:
        super().__init__()
        write: Callable[[str, Change], None] = self._data.write

        def write_without(task_id: str, change: Change) -> None:
            write(task_id, change._replace(put=tuple(entry._replace(input=None) for entry in change.put)))

        vars(self._data)["write"] = write_without


class TakesVerdictsOfStaleRuns(IgnoresTheToken):
    """A settlement with an old token writes the state of its gate."""


CHAIN_DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    FollowsNoChain: ("test_every_end_fires_the_links_that_name_it",),
    ForgetsWhatHasFired: (
        "test_any_fires_once_for_each_root_occurrence",
        "test_predecessors_that_end_in_one_batch_complete_a_join",
        "test_a_manual_retry_fires_only_links_that_have_not_fired_for_that_root",
    ),
    TakesRootsOfOneInstantForOne: ("test_two_roots_that_end_at_one_instant_do_not_collide",),
    GivesTwoRootsOneInstant: ("test_two_roots_that_end_at_one_instant_do_not_collide",),
    ChecksLinksBeforeTheLock: (
        "test_depth_and_fan_out_are_bounded",
        "test_concurrent_edits_of_links_make_no_cycle",
        "test_concurrent_edits_of_links_keep_the_depth",
    ),
    CompletesJoinsFromOldRows: ("test_concurrent_settlements_complete_a_join_once",),
    ForgetsSkippedRoots: ("test_a_join_waits_for_all_and_gets_all_parents",),
    KeepsLinksOfCancelledTasks: ("test_a_cancelled_successor_is_no_longer_linked",),
    IgnoresEditedLinks: ("test_an_edit_moves_the_link_and_closes_what_was_waited_for",),
    IgnoresDeletedPredecessors: (
        "test_deleting_a_predecessor_is_refused_unless_forced",
        "test_a_deleted_successor_is_no_longer_listed",
    ),
    ReportsNoLinks: ("test_changes_of_linked_tasks_are_reported_after_the_commit",),
    SettlesOneByOne: ("test_a_failing_decision_writes_neither_the_end_nor_the_link",),
}
GATE_DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    DropsGateStates: (
        "test_the_state_of_a_gate_is_written_with_the_success_of_its_run",
        "test_a_claimed_run_ends_from_there_when_its_gate_was_closed",
    ),
    OverwritesGateStates: ("test_a_settlement_whose_gate_state_was_changed_writes_nothing",),
    KeepsGateStatesOfDeletedTasks: ("test_the_state_of_a_gate_is_deleted_with_its_task",),
    ForgetsTheVerdict: (
        "test_a_retry_of_the_target_keeps_the_verdict_of_the_gate",
        "test_occurrences_that_pass_while_a_gate_fails_wait_and_are_one_row",
    ),
    TakesVerdictsOfStaleRuns: ("test_a_stale_settlement_writes_no_gate_state",),
}
