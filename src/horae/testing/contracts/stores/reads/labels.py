"""Contract of labels: tasks are found by their current labels, in list order, only for their owner."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from .....model.change import Change, Facts
from .....model.task import Task, TaskState, TaskStatus
from .....ports.full_store import FullStore
from .....ports.store import TaskFilter
from .....ports.transfer import Part
from ....decisions import always, fail
from ....factories import DAY, NOON, a_new_task, a_task
from ..contract import Contract
from ..setup import add_tasks

_ROOM = ("room", "a")
_TEAM = ("team", "blue")


async def _found(store: FullStore, *labels: tuple[str, str], owner: str | None = None, size: int = 3) -> list[str]:
    """Read all pages."""
    return await _listed(store, TaskFilter(owner, labels=labels), size)


async def _listed(store: FullStore, wanted: TaskFilter, size: int = 3) -> list[str]:
    found: list[str] = []
    after = None
    while True:
        page = await store.tasks(wanted, after, size)
        assert len(page.items) <= size
        found.extend(facts.task.id for facts in page.items)
        if (after := page.after) is None:
            return found


def _ids(*tasks: Task) -> list[str]:
    return [task.id for task in tasks]


async def _relabel(store: FullStore, task: Task, *labels: tuple[str, str]) -> None:
    await store.change(task.id, None, always(Change(task=task._replace(labels=labels))))


class LabelsContract(Contract):
    async def test_a_rare_label_is_found_page_by_page_among_many_tasks(self, store: FullStore) -> None:
        tasks = [a_task(labels=(_TEAM, _ROOM) if place % 17 == 3 else (_TEAM,)) for place in range(120)]
        rare = [task for task in tasks if _ROOM in task.labels]
        await add_tasks(store, *tasks[:60])
        await add_tasks(store, *tasks[60:])
        for size in (1, 3, len(rare), 100):
            assert await _found(store, _ROOM, size=size) == _ids(*rare)
            assert await _found(store, _ROOM, _TEAM, size=size) == _ids(*rare)
        assert await _found(store, _TEAM, size=50) == _ids(*tasks)
        assert await _found(store, _ROOM, ("team", "red")) == []
        assert await store.check() == ()

    async def test_a_label_matches_by_exact_name_and_value(self, store: FullStore) -> None:
        odd = (
            ('"', "\\"),
            ("['a','b']", '["a","b"]'),
            ("100%", "_"),
            ("/", "\\/"),
            ("Straße", "🌱 漢字"),
            ("room", ""),
            ("room", "A"),
            ("room ", "a"),
            ("roo", "ma"),
        )
        tasks = [a_task(labels=(label,)) for label in odd]
        await add_tasks(store, *tasks, a_task(), a_task(labels=tuple(sorted(odd))))
        for label, task in zip(odd, tasks, strict=True):
            found = await _found(store, label)
            assert (found[0], len(found)) == (task.id, 2), label
        assert await _found(store, _ROOM) == []
        assert await store.check() == ()

    async def test_an_edit_updates_the_labels_that_find_a_task(self, store: FullStore) -> None:
        first, second, other = a_task(labels=(_ROOM,)), a_task(labels=(_ROOM, _TEAM)), a_task(labels=(_ROOM,))
        await add_tasks(store, first, second, other)
        await _relabel(store, first, _TEAM)
        assert (await _found(store, _ROOM), await _found(store, _TEAM)) == (_ids(second, other), _ids(first, second))
        await _relabel(store, second)
        assert (await _found(store, _ROOM), await _found(store, _TEAM)) == (_ids(other), _ids(first))
        await _relabel(store, second, _ROOM, _TEAM)
        assert (await _found(store, _ROOM), await _found(store, _TEAM)) == (_ids(second, other), _ids(first, second))
        async with self.another(store) as handle:
            assert await _found(handle, _ROOM, owner="ada") == _ids(second, other)
        assert await store.check() == ()

    async def test_an_upsert_updates_labels(self, store: FullStore) -> None:
        task = a_task(key="report", labels=(_ROOM,))

        def made_or_edited(facts: Facts | None) -> Change:
            return a_new_task(task) if facts is None else Change(task=task._replace(labels=(_TEAM,)))

        await store.upsert("ada", "report", made_or_edited)
        assert await _found(store, _ROOM) == _ids(task)
        await store.upsert("ada", "report", made_or_edited)
        assert (await _found(store, _ROOM), await _found(store, _TEAM)) == ([], _ids(task))
        assert await store.check() == ()

    async def test_a_deleted_task_is_found_by_no_label(self, store: FullStore) -> None:
        gone, stays = a_task(labels=(_ROOM, _TEAM)), a_task(labels=(_ROOM,))
        await add_tasks(store, gone, stays)
        await store.change(gone.id, None, always(Change(deleted=True)))
        assert (await _found(store, _ROOM), await _found(store, _TEAM)) == (_ids(stays), [])
        assert await store.check() == ()

    async def test_a_task_deleted_by_retention_is_found_by_no_label(self, store: FullStore) -> None:
        over, stays = a_task(labels=(_ROOM,)), a_task(labels=(_ROOM,))
        ended = TaskStatus(TaskState.COMPLETED, ended=NOON - 9 * DAY)
        await store.add([a_new_task(over, entries=[], status=ended), a_new_task(stays)])
        assert (await store.trim(NOON - DAY, 100, 100)).tasks == 1
        assert await _found(store, _ROOM) == _ids(stays)
        assert await store.check() == ()

    async def test_a_label_finds_no_task_of_another_owner(self, store: FullStore) -> None:
        owners = ("ada", "bob", "bob", "cyd") * 5
        tasks = [a_task(owner=owner, labels=(_ROOM, ("owner", owner))) for owner in owners]
        await add_tasks(store, *tasks)
        for owner in ("ada", "bob", "cyd", "unknown", ""):
            mine = [task for task in tasks if task.owner == owner]
            assert await _found(store, _ROOM, owner=owner) == _ids(*mine)
            assert await _found(store, _ROOM, ("owner", owner), owner=owner) == _ids(*mine)
            assert await _found(store, ("owner", "bob"), owner=owner) == (_ids(*mine) if owner == "bob" else [])
        assert await _found(store, _ROOM) == _ids(*tasks)

    async def test_label_and_state_filters_combine(self, store: FullStore) -> None:
        tasks = [
            a_task(labels=(_ROOM,) if place % 2 else (), owner="ada" if place % 3 else "bob") for place in range(30)
        ]
        states = [list(TaskState)[place % len(TaskState)] for place in range(30)]
        pairs = list(zip(tasks, states, strict=True))
        await store.add([a_new_task(task, status=TaskStatus(state, ended=NOON)) for task, state in pairs])
        for wanted in ({TaskState.FAILED}, {TaskState.COMPLETED, TaskState.CANCELLED}, set(TaskState), set()):
            for owner in (None, "ada", "bob"):
                mine = [(task, state) for task, state in pairs if owner in (None, task.owner) and state in wanted]
                asked = TaskFilter(owner, frozenset(wanted))
                assert await _listed(store, asked) == [task.id for task, _ in mine]
                labelled = [task.id for task, _ in mine if task.labels]
                assert await _listed(store, asked._replace(labels=(_ROOM,))) == labelled

    async def test_a_failed_change_leaves_the_labels_unchanged(self, store: FullStore) -> None:
        taken, task = a_task(key="taken"), a_task(labels=(_ROOM,))
        await add_tasks(store, taken, task)
        new = a_task(labels=(_TEAM,))
        for change in (
            store.add([a_new_task(new), a_new_task(a_task(key="taken"))]),
            store.change(task.id, None, always(Change(task=task._replace(key="taken", labels=(_TEAM,))))),
            store.change(task.id, None, fail),
        ):
            try:
                await change
            except Exception:  # noqa: BLE001, S110 - the reason is checked elsewhere
                pass
            else:
                raise AssertionError
        assert (await _found(store, _ROOM), await _found(store, _TEAM)) == (_ids(task), [])
        assert await store.check() == ()

    async def test_an_imported_task_is_found_by_its_labels(self, store: FullStore) -> None:
        task = a_task(labels=(_ROOM, _TEAM))
        await add_tasks(store, task, a_task())
        items = (await store.export_page(Part.TASKS)).items
        await _relabel(store, task, ("later", "yes"))
        async with self.make() as target:
            for given in (items, items, (await store.export_page(Part.TASKS)).items):
                await target.import_page(Part.TASKS, given)
            assert await _found(target, ("later", "yes")) == _ids(task)
            assert (await _found(target, _ROOM), await _found(target, _TEAM)) == ([], [])
            await target.import_page(Part.TASKS, items)
            assert await _found(target, _ROOM, owner="ada") == _ids(task)
