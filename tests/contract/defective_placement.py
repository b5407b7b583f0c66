"""Stores with a defect in queues of labels, start deadlines, several lanes, waiting runs or pasts, and the tests that must fail on each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

from horae.model.change import Change, FireDecision
from horae.model.entry import EntryKind
from horae.model.run import Run
from horae.model.task import NEW_TASK_STATUS
from horae.ports.store import Claim
from horae.stores.memory import MemoryStore
from horae.stores.memory.data import Data
from horae.stores.memory.runs import Runs


class ClaimsFromEveryQueue(MemoryStore):
    """A node gets entries of queues that it does not serve."""

    async def claim_queued(
        self, now: datetime, node: str, room: int, decide: FireDecision, queues: Collection[str]
    ) -> Claim:
        every = [queue.name for queue in (await self.admit(())).queues]
        return await super().claim_queued(now, node, room, decide, every if queues else queues)


class PlansNoStartDeadline(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data = _NoStartDeadlines()


class _NoStartDeadlines(Data):
    def apply(self, task_id: str, change: Change) -> None:
        put = tuple(entry for entry in change.put if entry.kind is not EntryKind.START_DEADLINE)
        super().apply(task_id, change._replace(put=put))


class TakesTheFirstLane(MemoryStore):
    """A run of several lanes takes a slot in the first one alone."""

    def __init__(self) -> None:
        super().__init__()
        self._data.runs = _FirstLanes(self._data._transaction)


class _FirstLanes(Runs):
    def _index_live_run(self, run: Run) -> None:
        super()._index_live_run(run)
        for lane in run.lanes[1:]:
            self.lane_slots.discard(lane, run.id)


class ForgetsTheVerdictOfWaitingRuns(MemoryStore):
    """A run that comes to wait for an answer keeps the input that it was claimed with."""

    def __init__(self) -> None:
        super().__init__()
        self._data = _FirstInputs()


class _FirstInputs(Data):
    def _update_run(self, run: Run) -> None:
        before = self.runs.get(run.id)
        super()._update_run(run if before is None else run._replace(input=before.input))


class ForgetsThePast(MemoryStore):
    """A new task is stored with nothing counted and nothing ended."""

    async def add(self, changes: Sequence[Change]) -> None:
        await super().add([change._replace(status=NEW_TASK_STATUS) for change in changes])


PLACEMENT_DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    ClaimsFromEveryQueue: ("test_the_queue_of_a_route_is_claimed_by_those_who_serve_it",),
    PlansNoStartDeadline: (
        "test_an_entry_in_a_full_lane_is_skipped_at_its_start_deadline",
        "test_an_entry_without_a_node_for_its_target_is_skipped_at_its_start_deadline",
    ),
    TakesTheFirstLane: (
        "test_a_run_takes_a_slot_in_each_of_its_lanes",
        "test_a_run_needs_a_slot_in_each_of_several_lanes",
    ),
    ForgetsThePast: ("test_a_task_that_began_elsewhere_goes_on_where_it_was",),
    ForgetsTheVerdictOfWaitingRuns: ("test_a_run_that_waits_for_an_answer_keeps_the_verdict_of_its_gate",),
}
