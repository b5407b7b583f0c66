"""Contract of atomicity: a decision that raises rolls back the whole call."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from collections.abc import Awaitable

from .....errors import Conflict, StoreError
from .....model.change import Change, Facts
from .....model.outcome import Settlement
from .....model.run import Run
from .....ports.full_store import FullStore
from ....decisions import (
    PlannedFailure,
    always,
    decide_start,
    fail,
    fail_at_call,
    ignore_entry,
    lose,
    start_within_lanes,
    succeed,
)
from ....factories import (
    HOUR,
    NODE,
    NOON,
    a_new_task,
    a_node,
    a_run,
    a_settlement,
    a_task,
    an_ended_run,
    an_entry,
    an_event,
)
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, fill_lane, read_all, settle


async def _assert_fails(kind: type[BaseException], call: Awaitable[object]) -> None:
    try:
        await call
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")


class AtomicityContract(Contract):
    async def test_a_claim_whose_decision_fails_leaves_everything_as_it_was(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, *(a_task(lane="press") for _ in range(5)))
        before = await read_all(store)
        for number in (1, 3, 5):
            await _assert_fails(PlannedFailure, claim(store, decide=fail_at_call(number, decide_start(again=HOUR))))
            assert await read_all(store) == before
        assert len(await claim_all(store)) == 5

    async def test_a_failed_claim_in_a_backlog_loses_no_entry(self, store: FullStore) -> None:
        tasks = [a_task(owner=f"owner-{place % 3}") for place in range(300)]
        await store.join(a_node())
        await add_tasks(store, *tasks)
        before = await read_all(store)
        await _assert_fails(PlannedFailure, claim(store, decide=fail_at_call(10)))
        assert await read_all(store) == before
        assert sorted(each.task.id for each in await claim_all(store)) == sorted(task.id for task in tasks)

    async def test_a_decision_that_neither_drops_nor_reschedules_its_entry_is_refused(self, store: FullStore) -> None:
        """Otherwise the entry would be due for ever."""
        await store.join(a_node())
        await add_tasks(store, a_task())
        before = await read_all(store)
        await _assert_fails(StoreError, claim(store, decide=ignore_entry))
        assert await read_all(store) == before

    async def test_a_batch_whose_decision_fails_settles_nothing(self, store: FullStore) -> None:
        await store.set_lane("press", 3)
        runs = await fill_lane(store, "press", *(a_task() for _ in range(5)))
        before = await read_all(store)

        def fail_at_the_last(facts: Facts, run: Run, report: Settlement) -> Change:
            return fail() if run.id == runs[-1].id else succeed(facts, run, report)

        await _assert_fails(PlannedFailure, store.settle([a_settlement(run) for run in runs], fail_at_the_last))
        assert await read_all(store) == before
        assert await settle(store, *runs) == frozenset()

    async def test_a_status_written_twice_in_a_batch_is_rolled_back_whole(self, store: FullStore) -> None:
        task = a_task()
        runs = [a_run(task, planned=NOON + place * HOUR) for place in range(3)]
        await store.add([a_new_task(task, runs=runs)])
        before = await read_all(store)

        def count_and_fail_at_the_last(facts: Facts, run: Run, report: Settlement) -> Change:
            counted = facts.status._replace(counted=facts.status.counted + 1)
            return fail() if run == runs[-1] else succeed(facts, run, report)._replace(status=counted)

        await _assert_fails(
            PlannedFailure, store.settle([a_settlement(run) for run in runs], count_and_fail_at_the_last)
        )
        assert await read_all(store) == before

    async def test_a_release_whose_decision_fails_releases_nothing(self, store: FullStore) -> None:
        runs = await fill_lane(store, "press", a_task())
        before = await read_all(store)
        await _assert_fails(PlannedFailure, store.release([(run.id, run.token) for run in runs], fail))
        assert await read_all(store) == before

    async def test_a_recovery_whose_decision_fails_leaves_the_node_and_its_runs(self, store: FullStore) -> None:
        await store.join(a_node("watcher"))
        await fill_lane(store, "press", a_task())
        before = await read_all(store)
        await _assert_fails(PlannedFailure, store.recover(NODE, 0, fail, 10))
        assert await read_all(store) == before
        assert [node.id for node in (await store.renew_lease("watcher", NOON)).nodes] == [NODE]
        assert await store.recover(NODE, 0, lose, 10) == 1

    async def test_a_refused_change_changes_nothing(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task)
        before = await read_all(store)
        await _assert_fails(PlannedFailure, store.change(task.id, None, fail))
        assert await read_all(store) == before

    async def test_a_change_that_cannot_be_applied_leaves_no_part_behind(self, store: FullStore) -> None:
        """The last part is invalid: it changes a run that has ended."""
        task = a_task()
        run = an_ended_run(task)
        await store.add([a_new_task(task, runs=[run])])
        before = await read_all(store)
        change = Change(
            task=task._replace(name="renamed"),
            put=(an_entry(task, due=NOON + HOUR),),
            new_runs=(a_run(task, planned=NOON + HOUR),),
            updated_runs=(run._replace(result_json='"again"'),),
            events=(an_event(task),),
        )
        await _assert_fails(StoreError, store.change(task.id, None, always(change)))
        assert await read_all(store) == before

    async def test_tasks_are_added_all_or_none(self, store: FullStore) -> None:
        taken = a_task(key="report")
        await add_tasks(store, taken)
        before = await read_all(store)
        fresh = [a_new_task(a_task()), a_new_task(a_task(key="other"))]
        await _assert_fails(Conflict, store.add([*fresh, a_new_task(a_task(key="report"))]))
        assert await read_all(store) == before
        await _assert_fails(StoreError, store.add([*fresh, a_new_task(taken._replace(key=None))]))
        assert await read_all(store) == before
        await store.add(fresh)

    async def test_an_upsert_whose_decision_fails_creates_nothing(self, store: FullStore) -> None:
        await add_tasks(store, a_task(key="report"))
        before = await read_all(store)
        for key in ("report", "other"):
            await _assert_fails(PlannedFailure, store.upsert("ada", key, fail))
        assert await read_all(store) == before

    async def test_a_failed_claim_takes_no_lane_slots(self, store: FullStore) -> None:
        await store.set_lane("press", 2)
        await store.join(a_node())
        await add_tasks(store, *(a_task(lane="press") for _ in range(3)))
        await _assert_fails(PlannedFailure, claim(store, decide=fail_at_call(3, start_within_lanes())))
        assert len((await claim(store, decide=start_within_lanes())).runs) == 2

    async def test_a_failed_settlement_frees_no_lane_slots(self, store: FullStore) -> None:
        await store.set_lane("press", 2)
        first, second = await fill_lane(store, "press", *(a_task() for _ in range(4)))

        def fail_at_the_second(facts: Facts, run: Run, report: Settlement) -> Change:
            return fail() if run.id == second.id else succeed(facts, run, report)

        await _assert_fails(
            PlannedFailure, store.settle([a_settlement(first), a_settlement(second)], fail_at_the_second)
        )
        assert (await claim(store, decide=start_within_lanes())).decided == 0
        await settle(store, first, second)
        assert len((await claim(store, decide=start_within_lanes())).runs) == 2
