"""Stores with defects of idle runs and of the view of a lane, each with the contract tests that notice it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from horae.model.lanes.idle import YIELD_REQUEST_KIND, IdleRun, YieldReason, yield_request_of
from horae.model.lanes.lane import LaneLine
from horae.model.run import Run
from horae.ports.store import LeaseRenewal
from horae.stores.codec.json_codecs import decode
from horae.stores.memory import MemoryStore
from horae.stores.memory.data import Data


class AsksNoIdleRun(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        put = self._data.put_idle_runs

        def put_unasked(idle_runs: Sequence[IdleRun]) -> None:
            put([each._replace(yield_kind=None) for each in idle_runs])

        vars(self._data)["put_idle_runs"] = put_unasked


class KeepsIdleRuns(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        vars(self._data)["drop_idle_run"] = _do_nothing


def _do_nothing(_run: Run) -> None: ...


class ForgetsOtherIdleRuns(MemoryStore):
    """A lane knows one idle run, the last one."""

    def __init__(self) -> None:
        super().__init__()

        def last_of(lane: str) -> dict[str, IdleRun]:
            return dict(list(Data._idle_runs(self._data, lane).items())[-1:])

        vars(self._data)["_idle_runs"] = last_of


class KnowsTheFirstLaneOfIdleRuns(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        put = self._data.put_idle_runs

        def put_first(idle_runs: Sequence[IdleRun]) -> None:
            put([each for each in idle_runs if each.place == 0])

        vars(self._data)["put_idle_runs"] = put_first


class IgnoresTheTokenOfIdleRuns(MemoryStore):
    async def declare_idle(self, run_id: str, token: int, since: datetime | None) -> YieldReason | None:
        run: Run | None = self._data.runs.get(run_id)
        return await super().declare_idle(run_id, token if run is None else run.token, since)


class AsksForGood(MemoryStore):
    """A request stays when the run works again."""

    async def declare_idle(self, run_id: str, token: int, since: datetime | None) -> YieldReason | None:
        return None if since is None else await super().declare_idle(run_id, token, since)


class SendsYieldRequestsToAllNodes(MemoryStore):
    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        renewal = await super().renew_lease(node, now, load, offset)
        records = (await self.records(YIELD_REQUEST_KIND)).items
        return renewal._replace(yield_requests=tuple(yield_request_of(decode(each.body)) for each in records))


class ListsLanesByDue(MemoryStore):
    async def lane_line(self, lane: str, limit: int = 10_000) -> LaneLine:
        line = await super().lane_line(lane, limit)
        return line._replace(waiters=tuple(sorted(line.waiters, key=lambda each: (each.due, each.task_id))))


class ListsNoRunsOfLanes(MemoryStore):
    async def lane_runs(self, lane: str, limit: int = 20) -> tuple[Run, ...]:  # noqa: ARG002
        return ()


_LISTED: Final = "test_runs_and_entries_of_a_lane_are_listed_in_order"
IDLE_DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    AsksNoIdleRun: (
        "test_an_idle_run_is_asked_to_yield_to_another_owner",
        "test_an_idle_run_is_asked_to_yield_to_a_higher_priority",
        "test_a_run_that_becomes_idle_is_told_of_the_entries_that_wait_already",
        "test_a_raised_priority_of_a_waiting_entry_asks_too",
        "test_a_request_of_another_handle_reaches_the_node_of_the_run",
    ),
    KeepsIdleRuns: (
        "test_the_end_of_an_idle_run_leaves_nothing",
        "test_an_idle_run_that_is_recovered_or_deleted_leaves_nothing",
        "test_a_run_that_waits_for_an_answer_is_not_idle",
    ),
    ForgetsOtherIdleRuns: ("test_all_idle_runs_of_a_lane_are_asked",),
    KnowsTheFirstLaneOfIdleRuns: ("test_an_idle_run_is_asked_in_each_of_its_lanes",),
    IgnoresTheTokenOfIdleRuns: ("test_a_stale_token_declares_nothing",),
    AsksForGood: ("test_a_run_that_is_busy_again_is_no_longer_asked",),
    SendsYieldRequestsToAllNodes: ("test_a_request_of_another_handle_reaches_the_node_of_the_run",),
    ListsLanesByDue: (_LISTED,),
    ListsNoRunsOfLanes: (_LISTED,),
}
