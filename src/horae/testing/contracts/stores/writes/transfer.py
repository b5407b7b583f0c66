"""Contract of transfer: a move copies everything unchanged, a repeated import is idempotent, and tasks go on running."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from .....clock import SystemClock
from .....errors import StoreError
from .....model.change import Change, Facts
from .....model.entry import EntryState
from .....model.lanes.lane import LaneUse
from .....model.run import RunState
from .....ports.full_store import FullStore
from .....ports.store import TaskFilter
from .....ports.transfer import Part, TransferItem
from .....stores.memory import MemoryStore
from .....transfer import NamedStore, move_store
from .....transfer.digest import encode_canonical
from .....transfer.idle_check import LivenessCheck
from ....decisions import always, decide_start, lose, start_within_lanes
from ....factories import DAY, HOUR, NODE, NOON, SECOND, a_node, a_task, an_ended_run, an_event
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, get_facts, read_all, settle
from .sample_contents import fill_store

NO_LIVE_NODES = LivenessCheck(SystemClock(), is_gone=lambda _: True, is_running_here=lambda _: False)
HOURS = range(int(NOON.timestamp()) // 3600 - 1, int(NOON.timestamp()) // 3600 + 2)


async def move_everything(source: FullStore, target: FullStore) -> None:
    await move_store(NamedStore("source", source), NamedStore("target", target), NO_LIVE_NODES)


async def read_part(store: FullStore, part: Part, size: int = 100) -> list[TransferItem]:
    """Read all items of a part in pages: tasks in their order, other parts sorted."""
    found: list[TransferItem] = []
    after: str | None = None
    while True:
        page = await store.export_page(part, after, size)
        assert len(page.items) <= size
        found += (each for each in page.items if each[0] != "move")
        after = page.after
        if after is None:
            return found if part is Part.TASKS else sorted(found, key=encode_canonical)


async def read_all_parts(store: FullStore, size: int = 100) -> dict[Part, list[TransferItem]]:
    return {part: await read_part(store, part, size) for part in Part}


async def _first(store: FullStore) -> Facts:
    return (await store.tasks(TaskFilter(), limit=1)).items[0]


class TransferContract(Contract):
    async def test_an_empty_store_exports_nothing(self, store: FullStore) -> None:
        assert await store.count_parts() == dict.fromkeys(Part, 0)
        assert await read_all_parts(store) == {part: [] for part in Part}

    async def test_a_move_copies_everything_unchanged(self, store: FullStore) -> None:
        await fill_store(store)
        async with self.make() as target:
            await move_everything(store, target)
            assert await read_all(target) == await read_all(store)
            assert await read_all_parts(target) == await read_all_parts(store)
            assert await target.lanes() == await store.lanes()
            assert await target.nodes() == await store.nodes()
            for owner in (None, "ada", "bob"):
                assert await target.counts(owner, [0, *HOURS]) == await store.counts(owner, [0, *HOURS])
            assert await target.check() == await store.check() == ()

    async def test_a_move_through_another_kind_of_store_changes_nothing(self, store: FullStore) -> None:
        await fill_store(store)
        between = MemoryStore()
        await move_everything(store, between)
        assert await read_all_parts(between) == await read_all_parts(store)
        async with self.make() as target:
            await move_everything(between, target)
            assert await read_all(target) == await read_all(store)
            assert await read_all_parts(target) == await read_all_parts(store)
            assert await target.check() == ()

    async def test_export_pages_of_any_size_hold_the_same_items(self, store: FullStore) -> None:
        await fill_store(store)
        whole = await read_all_parts(store)
        assert all(whole.values())
        for size in (1, 3):
            assert await read_all_parts(store, size) == whole
        assert await store.count_parts() == {part: len(items) for part, items in whole.items()}

    async def test_importing_a_page_twice_is_idempotent(self, store: FullStore) -> None:
        await fill_store(store)
        whole = await read_all_parts(store)
        async with self.make() as target:
            for part, items in whole.items():
                await target.import_page(part, items)
                await target.import_page(part, items[-2:])
                await target.import_page(part, items)
            for part, items in whole.items():
                await target.import_page(part, items[:2])
            assert await read_all_parts(target) == whole
            assert await read_all(target) == await read_all(store)
            assert await target.check() == ()

    async def test_events_after_a_move_have_higher_numbers(self, store: FullStore) -> None:
        await fill_store(store)
        last = await store.last_event()
        async with self.make() as target:
            await move_everything(store, target)
            assert await target.last_event() == last
            task = (await _first(target)).task
            await target.change(task.id, None, always(Change(events=(an_event(task, detail="after"),))))
            (numbered,) = await target.events(last)
            assert (numbered.number, numbered.event.detail) == (last + 1, "after")

    async def test_numbers_of_trimmed_events_are_not_reused_after_a_move(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task)
        for _ in range(4):
            await store.change(task.id, None, always(Change(events=(an_event(task),))))
        await store.trim(NOON + DAY, 100, 100)
        assert (await store.events(0), await store.last_event()) == ((), 5)
        async with self.make() as target:
            await move_everything(store, target)
            await target.change(task.id, None, always(Change(events=(an_event(task, detail="after"),))))
            assert [each.number for each in await target.events(0)] == [6]

    async def test_tokens_after_a_move_are_higher(self, store: FullStore) -> None:
        await store.join(a_node())
        before: list[int] = []
        for hour in range(3):
            await add_tasks(store, a_task(), due=NOON + hour * HOUR)
            ((_, run),) = (await claim(store, NOON + hour * HOUR)).runs
            before.append(run.token)
            await settle(store, run)
        async with self.make() as target:
            await move_everything(store, target)
            await add_tasks(target, a_task(), due=NOON + DAY)
            ((_, run),) = (await claim(target, NOON + DAY)).runs
            assert run.token > max(before)

    async def test_a_moved_task_runs_on_schedule(self, store: FullStore) -> None:
        task = a_task()
        await store.join(a_node())
        await add_tasks(store, task)
        ((_, run),) = (await claim(store, decide=decide_start(again=HOUR))).runs
        await settle(store, run)
        async with self.make() as target:
            await move_everything(store, target)
            assert await target.next_due() == NOON + HOUR
            await target.join(a_node("node-2"))
            again = decide_start(node="node-2", at=NOON + HOUR, again=HOUR)
            ((_, second),) = (await claim(target, NOON + HOUR, again, node="node-2")).runs
            assert (await settle(target, second), second.planned) == (frozenset(), NOON + HOUR)
            assert await target.next_due() == NOON + 2 * HOUR
            assert await target.check() == ()

    async def test_runs_of_a_dead_node_are_recovered_in_the_target_store(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, a_task())
        ((_, run),) = (await claim(store)).runs
        async with self.make() as target:
            await move_everything(store, target)
            assert await target.held(NODE) == ((run.id, run.token),)
            assert await target.recover(NODE, 0, lose, 10) == 1
            found = await target.run(run.id, None)
            assert found is not None
            assert (found.state, await target.nodes()) == (RunState.LOST, ())

    async def test_lane_slots_move_with_their_runs_and_are_freed_in_the_target_store(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, *(a_task(lane="press") for _ in range(3)))
        (first,) = [each.run for each in await claim_all(store, decide=start_within_lanes())]
        async with self.make() as target:
            await move_everything(store, target)
            assert await target.lanes() == (LaneUse("press", 1, 1),)
            assert (await claim(target, decide=start_within_lanes())).decided == 0
            await settle(target, first)
            ((_, second),) = (await claim(target, decide=start_within_lanes())).runs
            assert second.task_id != first.task_id
            assert await target.check() == ()

    async def test_a_moved_backlog_is_claimed_in_the_same_order(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, *(a_task(owner="bob" if place % 2 else "ada") for place in range(150)))
        await claim(store, room=1)
        carried = [each for each in await read_part(store, Part.TASKS) if isinstance(each, Facts)]
        assert {entry.state for facts in carried for entry in facts.entries} == {EntryState.TIMED}
        async with self.make() as target:
            await move_everything(store, target)
            assert len(await claim_all(target)) == 149

    async def test_new_tasks_are_listed_after_moved_tasks(self, store: FullStore) -> None:
        tasks = [a_task(key=f"{place}") for place in range(5)]
        await add_tasks(store, *reversed(tasks))
        async with self.make() as target:
            await move_everything(store, target)
            await add_tasks(target, new := a_task())
            page = await target.tasks(TaskFilter())
            assert [facts.task for facts in page.items] == [*reversed(tasks), new]
            found = await target.find("ada", "3")
            assert found is not None
            assert found.task == tasks[3]

    async def test_a_repeated_import_replaces_a_task_that_changed_meanwhile(self, store: FullStore) -> None:
        """After an interrupted move the source goes on; a repeated import brings its current state."""
        await store.join(a_node())
        tasks = [a_task(lane="press", key=f"{place}") for place in range(3)]
        await add_tasks(store, *tasks)
        (first,) = [each.run for each in await claim_all(store, decide=start_within_lanes())]
        async with self.make() as target:
            for part in Part:
                await target.import_page(part, await read_part(store, part))
            before = await get_facts(target, tasks[0])
            await settle(store, first)
            await store.change(tasks[0].id, None, always(Change(task=tasks[0]._replace(key=None, version=2))))
            for part in Part:
                await target.import_page(part, await read_part(store, part))
            assert await get_facts(target, tasks[0]) == await get_facts(store, tasks[0]) != before
            assert await read_all(target) == await read_all(store)
            assert await target.check() == ()
            page = await target.tasks(TaskFilter())
            assert [facts.task.id for facts in page.items] == [task.id for task in tasks]

    async def test_a_run_is_not_imported_without_its_task(self, store: FullStore) -> None:
        known, unknown = a_task(), a_task()
        await add_tasks(store, known)
        before = await read_all_parts(store)
        try:
            await store.import_page(Part.RUNS, [an_ended_run(known), an_ended_run(unknown)])
        except StoreError:
            assert await read_all_parts(store) == before
        else:
            raise AssertionError("a run without its task was accepted")

    async def test_other_handles_see_imported_items(self, store: FullStore) -> None:
        source = MemoryStore()
        await fill_store(source)
        task = await _first(source)
        async with self.another(store) as other:
            await add_tasks(other, task.task._replace(name="before", key=None))
            assert (await get_facts(store, task.task)).task.name == "before"
            for part in Part:
                await store.import_page(part, await read_part(source, part))
            assert await get_facts(other, task.task) == await get_facts(source, task.task)
            await store.join(a_node("node-2"))
            await claim(other, NOON + SECOND, node="node-2")
            assert await other.check() == ()
