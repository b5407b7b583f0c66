"""Contract of start deadlines: any node finds a waiting entry when its `start_within` is over, and only skips it."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from datetime import datetime
from typing import Any

from .....lifecycle.fire import fire
from .....lifecycle.start import ClaimContext
from .....model.change import Change, Facts, FireDecision
from .....model.entry import Entry, EntryKind
from .....model.lanes.lane import LaneUse
from .....model.policy import Policies
from .....model.reason import Reason
from .....model.run import Run
from .....model.task import Task
from .....ports.full_store import FullStore
from .....ports.store import RunFilter
from .....schedule import Once
from ....factories import MICROSECOND, MINUTE, NODE, NOON, SECOND, a_node, a_task
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, fill_lane, get_facts, settle


def _decide(now: datetime, routes: frozenset[str] | None = None) -> FireDecision:
    context = ClaimContext(NODE, now, 10 * SECOND, routes)
    return lambda facts, entry, token: fire(facts, entry, token, context)


def _urgent_task(**fields: Any) -> Task:
    """A task that starts within a minute or not at all."""
    return a_task(schedule=Once(at=NOON), policies=Policies(start_within=MINUTE), **fields)


async def _rows(store: FullStore, task: Task) -> list[Run]:
    return list((await store.runs(RunFilter(task_id=task.id))).items)


class StartDeadlineContract(Contract):
    async def test_an_entry_in_a_full_lane_is_skipped_at_its_start_deadline(self, store: FullStore) -> None:
        await fill_lane(store, "press", a_task())
        task = _urgent_task(lane="press")
        await add_tasks(store, task)
        await claim_all(store, decide=_decide(NOON))
        deadline = NOON + MINUTE
        before = await claim(store, deadline - MICROSECOND, _decide(deadline - MICROSECOND))
        assert (before.decided, before.next_due) == (0, deadline)
        assert (await claim(store, deadline, _decide(deadline))).runs == ()
        (row,) = await _rows(store, task)
        assert (row.reason, row.planned, row.ended) == (Reason.START_DEADLINE, NOON, deadline)
        assert (await get_facts(store, task)).entries == ()

    async def test_an_entry_skipped_at_its_start_deadline_waits_no_longer_within_the_claim_batch(
        self, store: FullStore
    ) -> None:
        await fill_lane(store, "press", a_task())
        first, second = _urgent_task(lane="press", priority=2), _urgent_task(lane="press", priority=1)
        later, deadline = a_task(lane="press"), NOON + MINUTE
        await add_tasks(store, first, second)
        await claim_all(store, decide=_decide(NOON))
        await add_tasks(store, later, due=deadline)
        seen: list[tuple[str, tuple[LaneUse, ...]]] = []

        def decide(facts: Facts, entry: Entry, token: int) -> Change:
            seen.append((facts.task.id, facts.lanes))
            return _decide(deadline)(facts, entry, token)

        await claim(store, deadline, decide)
        full = LaneUse("press", 1, 1)
        waiting = full._replace(has_waiting=True)
        assert seen == [(first.id, (waiting,)), (second.id, (waiting,)), (later.id, (full,))]

    async def test_an_entry_without_a_node_for_its_target_is_skipped_at_its_start_deadline(
        self, store: FullStore
    ) -> None:
        task, deadline = _urgent_task(), NOON + MINUTE
        await store.join(a_node())
        await add_tasks(store, task)
        await claim_all(store, decide=_decide(NOON, frozenset()))
        kinds = {entry.kind for entry in (await get_facts(store, task)).entries}
        assert kinds == {EntryKind.NEXT, EntryKind.START_DEADLINE}
        await claim_all(store, deadline, _decide(deadline, frozenset()))
        assert [row.reason for row in await _rows(store, task)] == [Reason.START_DEADLINE]

    async def test_a_free_slot_goes_to_the_next_entry_when_the_first_is_too_late(self, store: FullStore) -> None:
        """The first entry was unparked for the slot, but a minute is over before a node claims it."""
        (run,) = await fill_lane(store, "press", a_task())
        first, second = _urgent_task(lane="press", priority=1), a_task(lane="press")
        await add_tasks(store, first, second)
        await claim_all(store, decide=_decide(NOON))
        await settle(store, run)
        late = NOON + MINUTE
        claimed = await claim_all(store, late, _decide(late))
        assert [each.task.id for each in claimed] == [second.id]
        assert [row.reason for row in await _rows(store, first)] == [Reason.START_DEADLINE]

    async def test_an_entry_that_starts_in_time_leaves_no_start_deadline(self, store: FullStore) -> None:
        (run,) = await fill_lane(store, "press", a_task())
        task = _urgent_task(lane="press")
        await add_tasks(store, task)
        await claim_all(store, decide=_decide(NOON))
        await settle(store, run)
        soon = NOON + 59 * SECOND
        claimed = await claim_all(store, soon, _decide(soon))
        assert [each.task.id for each in claimed] == [task.id]
        assert (await get_facts(store, task)).entries == ()
