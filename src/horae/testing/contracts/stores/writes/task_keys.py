"""Contract of task keys: unique per owner, also under concurrent writes."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio

from .....errors import Conflict
from .....model.change import Change, Facts
from .....model.task import Task
from .....ports.full_store import FullStore
from .....ports.store import TaskFilter
from ....decisions import always
from ....factories import a_new_task, a_task
from ..contract import Contract
from ..setup import add_tasks, get_facts


def _made_or_edited(facts: Facts | None) -> Change:
    if facts is None:
        return a_new_task(a_task(key="report"))
    return Change(task=facts.task._replace(version=facts.task.version + 1))


async def _is_refused(store: FullStore, task: Task) -> bool:
    try:
        await add_tasks(store, task)
    except Conflict as refusal:
        return refusal.code == "key_taken"
    return False


class TaskKeysContract(Contract):
    async def test_a_task_is_found_by_its_key(self, store: FullStore) -> None:
        task = a_task(key="日报/daily report")
        await add_tasks(store, task, a_task(key="other"), a_task())
        found = await store.find("ada", "日报/daily report")
        assert found == await get_facts(store, task)
        assert found is not None
        assert found.task == task

    async def test_a_key_is_taken_once_per_owner(self, store: FullStore) -> None:
        await add_tasks(store, a_task(key="report"), a_task(owner="bob", key="report"))
        assert await _is_refused(store, a_task(key="report"))
        assert await _is_refused(store, a_task(owner="bob", key="report"))
        assert not await _is_refused(store, a_task(key="Report"))

    async def test_tasks_without_a_key_do_not_clash(self, store: FullStore) -> None:
        await add_tasks(store, a_task(), a_task())
        assert len((await store.tasks(TaskFilter())).items) == 2

    async def test_two_of_one_batch_cannot_share_a_key(self, store: FullStore) -> None:
        try:
            await add_tasks(store, a_task(key="report"), a_task(key="report"))
        except Conflict:
            assert (await store.tasks(TaskFilter())).items == ()
        else:
            raise AssertionError("two tasks with one key were accepted")

    async def test_an_edit_cannot_take_the_key_of_another_task(self, store: FullStore) -> None:
        first, second = a_task(key="first"), a_task(key="second")
        await add_tasks(store, first, second)
        try:
            await store.change(second.id, None, always(Change(task=second._replace(key="first"))))
        except Conflict:
            assert (await get_facts(store, second)).task == second
        else:
            raise AssertionError("two tasks with one key were accepted")

    async def test_a_key_that_an_edit_removed_is_free(self, store: FullStore) -> None:
        task = a_task(key="report")
        await add_tasks(store, task)
        await store.change(task.id, None, always(Change(task=task._replace(key="archive"))))
        assert await store.find("ada", "report") is None
        await add_tasks(store, a_task(key="report"))

    async def test_an_upsert_creates_an_absent_task(self, store: FullStore) -> None:
        facts = await store.upsert("ada", "report", _made_or_edited)
        assert (facts.task.key, facts.task.version, len(facts.entries)) == ("report", 1, 1)
        assert await store.find("ada", "report") == facts

    async def test_an_upsert_edits_an_existing_task(self, store: FullStore) -> None:
        made = await store.upsert("ada", "report", _made_or_edited)
        edited = await store.upsert("ada", "report", _made_or_edited)
        assert edited.task == made.task._replace(version=2)
        assert edited.entries == made.entries

    async def test_an_upsert_does_not_see_the_same_key_of_another_owner(self, store: FullStore) -> None:
        await add_tasks(store, a_task(owner="bob", key="report"))
        facts = await store.upsert("ada", "report", _made_or_edited)
        assert (facts.task.owner, facts.task.version) == ("ada", 1)

    async def test_concurrent_upserts_create_one_task(self, store: FullStore) -> None:
        async with self.another(store) as other:
            made = await asyncio.gather(*(each.upsert("ada", "report", _made_or_edited) for each in (store, other) * 5))
        assert len({facts.task.id for facts in made}) == 1
        (facts,) = (await store.tasks(TaskFilter())).items
        assert facts.task.version == 10
