"""Contract of id prefixes: lists ids of tasks and runs by prefix, for one owner or all, up to a limit."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from .....model.change import Change
from .....ports.full_store import FullStore
from ....decisions import always, succeed
from ....factories import DAY, HOUR, NOON, a_new_task, a_settlement, a_task, an_ended_run
from ..contract import Contract
from ..setup import start_run

_MOMENT = 16
"""Characters of an id up to the end of its milliseconds."""


class IdPrefixContract(Contract):
    async def test_task_ids_are_found_by_prefix_in_order(self, store: FullStore) -> None:
        tasks = [a_task(id=f"tsk_{number:012x}{'0' * 20}") for number in (0x30, 0x12, 0x11, 0x20)]
        await store.add([a_new_task(task) for task in tasks])
        assert await store.task_ids("tsk_00000000001", None, 10) == (tasks[2].id, tasks[1].id)
        assert await store.task_ids(tasks[0].id, None, 10) == (tasks[0].id,)
        assert await store.task_ids("tsk_0", None, 3) == (tasks[2].id, tasks[1].id, tasks[3].id)
        assert await store.task_ids("tsk_1", None, 10) == ()

    async def test_task_ids_of_another_owner_are_absent(self, store: FullStore) -> None:
        mine, other = a_task(owner="ada"), a_task(owner="bob")
        await store.add([a_new_task(mine), a_new_task(other)])
        assert await store.task_ids("tsk_", "ada", 10) == (mine.id,)
        assert set(await store.task_ids("tsk_", None, 10)) == {mine.id, other.id}
        assert await store.task_ids(other.id[:_MOMENT], "carol", 10) == ()

    async def test_run_ids_are_found_by_prefixes_with_and_beyond_the_planned_instant(self, store: FullStore) -> None:
        task = a_task()
        runs = [an_ended_run(task, planned=NOON, attempt=attempt) for attempt in (1, 2, 3)]
        later = an_ended_run(task, planned=NOON + HOUR)
        await store.add([a_new_task(task, runs=[*runs, later])])
        assert await store.run_ids(runs[0].id[:_MOMENT], None, 10) == tuple(sorted(run.id for run in runs))
        for run in (*runs, later):
            assert await store.run_ids(run.id, None, 10) == (run.id,)
            assert await store.run_ids(run.id[:-8], None, 10) == (run.id,)
        assert await store.run_ids(later.id[:12], None, 10) == (later.id,)
        assert len(await store.run_ids(runs[0].id[:_MOMENT], None, 2)) == 2
        assert await store.run_ids(an_ended_run(task, planned=NOON + DAY).id[:_MOMENT], None, 10) == ()
        assert await store.run_ids("run_zz", None, 10) == ()

    async def test_run_ids_of_another_owner_are_absent(self, store: FullStore) -> None:
        mine, other = a_task(owner="ada"), a_task(owner="bob")
        ours, theirs = an_ended_run(mine, owner="ada"), an_ended_run(other, owner="bob")
        await store.add([a_new_task(mine, runs=[ours]), a_new_task(other, runs=[theirs])])
        assert await store.run_ids(ours.id[:_MOMENT], "ada", 10) == (ours.id,)
        assert await store.run_ids(theirs.id, "ada", 10) == ()
        assert await store.run_ids(ours.id[:_MOMENT], None, 10) == tuple(sorted((ours.id, theirs.id)))

    async def test_live_and_ended_runs_are_found_by_prefix(self, store: FullStore) -> None:
        run = await start_run(store)
        assert await store.run_ids(run.id[:_MOMENT], None, 10) == (run.id,)
        await store.settle([a_settlement(run)], succeed)
        assert await store.run_ids(run.id[:_MOMENT], None, 10) == (run.id,)

    async def test_a_run_whose_id_does_not_name_its_instant_is_found_by_prefix(self, store: FullStore) -> None:
        task = a_task()
        stray = an_ended_run(task, id="run_0000000000ff" + "ab" * 10)
        await store.add([a_new_task(task, runs=[stray])])
        assert await store.run_ids(stray.id[:_MOMENT], None, 10) == (stray.id,)
        assert await store.run_ids("run_0000000000fe", None, 10) == ()

    async def test_ids_of_deleted_tasks_and_runs_are_absent(self, store: FullStore) -> None:
        task = a_task()
        run = an_ended_run(task)
        await store.add([a_new_task(task, runs=[run])])
        await store.change(task.id, None, always(Change(deleted=True)))
        assert await store.task_ids(task.id[:_MOMENT], None, 10) == ()
        assert await store.run_ids(run.id[:_MOMENT], None, 10) == ()
