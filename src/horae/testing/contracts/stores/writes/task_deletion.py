"""Contract of task deletion: runs, lines, key and lane slots go with the task; its events stay."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from .....model.change import Change
from .....model.events.event import Event, EventKind
from .....ports.full_store import FullStore
from .....ports.journal import Line
from .....ports.store import RunFilter, TaskFilter
from ....decisions import always, fail, start_within_lanes
from ....factories import HOUR, NODE, NOON, a_new_task, a_settlement, a_task, an_ended_run, an_entry, an_extra_entry
from ..contract import Contract
from ..setup import add_tasks, claim, fill_lane, start_run

_DELETED = always(Change(deleted=True))


class TaskDeletionContract(Contract):
    async def test_nothing_is_left_of_a_deleted_task(self, store: FullStore) -> None:
        task = a_task(key="report")
        await store.add([a_new_task(task, entries=[an_extra_entry(task, due=NOON + HOUR)], runs=[an_ended_run(task)])])
        assert await store.change(task.id, "ada", _DELETED) is not None
        assert await store.facts(task.id, None) is None
        assert await store.find("ada", "report") is None
        assert (await store.tasks(TaskFilter())).items == ()
        assert (await store.runs(RunFilter())).items == ()
        assert await store.next_due() is None
        assert await store.change(task.id, "ada", _DELETED) is None
        assert await store.check() == ()

    async def test_deleting_a_task_leaves_other_tasks_unchanged(self, store: FullStore) -> None:
        gone, stays = a_task(), a_task()
        run = an_ended_run(stays)
        await store.add([a_new_task(gone, runs=[an_ended_run(gone)]), a_new_task(stays, runs=[run])])
        await store.change(gone.id, None, _DELETED)
        assert (await store.runs(RunFilter())).items == (run,)
        facts = await store.facts(stays.id, None)
        assert facts is not None
        assert facts.entries == (an_entry(stays),)

    async def test_a_run_of_a_deleted_task_is_stale(self, store: FullStore) -> None:
        run = await start_run(store)
        await store.change(run.task_id, None, _DELETED)
        assert await store.run(run.id, None) is None
        assert await store.settle([a_settlement(run)], fail) == {run.id}
        assert await store.recover(NODE, 0, fail, 10) == 0

    async def test_deleting_a_task_frees_its_lane_slots(self, store: FullStore) -> None:
        (run,) = await fill_lane(store, "press", a_task(), a_task())
        await store.change(run.task_id, None, _DELETED)
        assert len((await claim(store, decide=start_within_lanes())).runs) == 1
        assert await store.check() == ()

    async def test_deleting_a_task_deletes_its_log_lines(self, store: FullStore) -> None:
        run = await start_run(store)
        await store.write_lines([Line(run.id, NOON, "info", "hello")])
        await store.change(run.task_id, None, _DELETED)
        assert await store.lines(run.id) == ()

    async def test_deleting_a_task_leaves_its_events(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task)
        deleted = Event(EventKind.TASK_DELETED, NOON, task.owner, task.id)
        await store.change(task.id, None, always(Change(deleted=True, events=(deleted,))))
        kinds = [numbered.event.kind for numbered in await store.events(0)]
        assert kinds == [EventKind.TASK_CREATED, EventKind.TASK_DELETED]

    async def test_deleting_a_task_frees_its_key(self, store: FullStore) -> None:
        task = a_task(key="report")
        await add_tasks(store, task)
        await store.change(task.id, None, _DELETED)
        await add_tasks(store, a_task(key="report"))

    async def test_a_task_may_be_deleted_by_its_own_claim(self, store: FullStore) -> None:
        run = await start_run(store)
        task = a_task(id=run.task_id)
        await store.change(task.id, None, always(Change(put=(an_entry(task),))))
        slice_ = await claim(store, decide=lambda *_: Change(deleted=True))
        assert (slice_.runs, slice_.decided, slice_.next_due) == ((), 1, None)
        assert await store.facts(task.id, None) is None
