"""Contract of system tasks: lists and counts of owners leave them out; by id their account reads them, and no other owner."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from datetime import datetime

from .....model.accounts.system_owner import EVERY_OWNER, EVERY_SYSTEM_OWNER, system_owner
from .....model.change import Change
from .....model.counts import NO_HOUR, OUTCOME_PREFIX, STATE_PREFIX, hour_of
from .....model.entry import EntryState
from .....model.lanes.lane import owner_lane
from .....model.reason import Reason
from .....model.task import Pause as TaskPause
from .....model.task import PauseCause, Task, TaskState, TaskStatus
from .....ports.full_store import FullStore
from .....ports.store import RunFilter, TaskFilter
from ....decisions import always, start_within_lanes
from ....factories import DAY, NOON, SECOND, a_new_task, a_node, a_task, an_entry
from ..contract import Contract
from ..setup import add_tasks, claim_all, get_facts, settle

_ROOM = ("room", "kitchen")


async def _add_both(store: FullStore, due: datetime = NOON) -> tuple[Task, Task, Task]:
    """Add a task of ada, a system task of ada and one of bob."""
    tasks = tuple(a_task(owner=owner, labels=(_ROOM,)) for owner in ("ada", "horae:ada", "horae:bob"))
    await add_tasks(store, *tasks, due=due)
    own, system, of_bob = tasks
    return own, system, of_bob


async def _listed(store: FullStore, owner: str | None, condition: TaskFilter) -> list[str]:
    page = await store.tasks(condition._replace(owner=owner))
    assert await store.count_tasks(condition._replace(owner=owner), 100) == len(page.items)
    return [facts.task.id for facts in page.items]


class SystemTasksContract(Contract):
    async def test_lists_of_tasks_leave_out_system_tasks(self, store: FullStore) -> None:
        own, system, of_bob = await _add_both(store)
        expected = {
            "ada": [own.id],
            "horae:ada": [system.id],
            "bob": [],
            EVERY_OWNER: [own.id],
            EVERY_SYSTEM_OWNER: [system.id, of_bob.id],
            None: [own.id, system.id, of_bob.id],
        }
        conditions = (
            TaskFilter(),
            TaskFilter(labels=(_ROOM,)),
            TaskFilter(kind=own.target.kind),
            TaskFilter(text=own.name[:3]),
            TaskFilter(name=own.name),
            TaskFilter(states=frozenset({TaskState.ACTIVE})),
        )
        for scope, ids in expected.items():
            for each in conditions:
                assert await _listed(store, scope, each) == ids, (scope, each)
            assert [facts.task.id for facts in await store.upcoming(scope)] == ids
            assert (await store.waiting(scope, NOON)).overdue == len(ids)

    async def test_lists_by_state_and_cause_leave_out_system_tasks(self, store: FullStore) -> None:
        tasks = await _add_both(store)
        own, system, of_bob = tasks
        pause = TaskPause(NOON, PauseCause.ORPHANED)
        for task in tasks:
            await store.change(task.id, None, always(Change(status=TaskStatus(TaskState.PAUSED, pause=pause))))
        paused = TaskFilter(states=frozenset({TaskState.PAUSED}))
        for condition in (paused, TaskFilter(pause_cause=PauseCause.ORPHANED)):
            assert await _listed(store, EVERY_OWNER, condition) == [own.id]
            assert await _listed(store, EVERY_SYSTEM_OWNER, condition) == [system.id, of_bob.id]
            assert await _listed(store, "ada", condition) == [own.id]
        for task in tasks:
            await store.change(task.id, None, always(Change(status=TaskStatus(failures=1))))
        assert await _listed(store, EVERY_OWNER, TaskFilter(failing=True)) == [own.id]
        assert await _listed(store, EVERY_SYSTEM_OWNER, TaskFilter(failing=True)) == [system.id, of_bob.id]

    async def test_lists_of_runs_and_events_leave_out_system_tasks(self, store: FullStore) -> None:
        await store.join(a_node())
        tasks = await _add_both(store)
        runs = {each.run.task_id: each.run for each in await claim_all(store)}
        own, system, of_bob = (runs[task.id] for task in tasks)
        expected = {"ada": [own], "bob": [], EVERY_OWNER: [own], EVERY_SYSTEM_OWNER: [system, of_bob]}
        for is_over in (False, True):
            for scope, found in expected.items():
                page = await store.runs(RunFilter(scope))
                assert sorted(run.id for run in page.items) == sorted(run.id for run in found), (scope, is_over)
            if not is_over:
                await settle(store, own, system, of_bob)
        assert {each.event.task_id for each in await store.events(0, 100, "ada")} == {own.task_id}
        assert {each.event.task_id for each in await store.events(0, 100, "horae:ada")} == {system.task_id}

    async def test_account_reads_its_system_tasks_by_id(self, store: FullStore) -> None:
        await store.join(a_node())
        _, system, _ = await _add_both(store)
        run = next(each.run for each in await claim_all(store) if each.run.task_id == system.id)
        for is_over in (False, True):
            for reader, can_read in (
                ("ada", True),
                ("horae:ada", True),
                (None, True),
                ("bob", False),
                ("horae:bob", False),
            ):
                assert (await store.facts(system.id, reader) is not None) is can_read
                assert (await store.run(run.id, reader) is not None) is can_read
                assert bool(await store.task_names([system.id], reader)) is can_read
                assert bool(await store.task_ids(system.id, reader, 5)) is can_read
                assert bool(await store.run_ids(run.id, reader, 5)) is can_read
                assert bool((await store.runs(RunFilter(reader, system.id))).items) is can_read
                changed = await store.change(system.id, reader, always(Change()))
                assert (changed is not None) is can_read, (reader, is_over)
            if not is_over:
                await settle(store, run)

    async def test_counters_of_system_tasks_are_apart(self, store: FullStore) -> None:
        await store.join(a_node())
        await _add_both(store)
        await settle(store, *(each.run for each in await claim_all(store)))
        hours = [NO_HOUR, hour_of(NOON)]
        for is_summed in (False, True):
            for scope, number in (("ada", 1), ("horae:ada", 1), (None, 1), (EVERY_OWNER, 1), (EVERY_SYSTEM_OWNER, 2)):
                counts = await store.counts(scope, hours)
                for prefix in (STATE_PREFIX, OUTCOME_PREFIX):
                    counted = sum(each for (_, name), each in counts.items() if name.startswith(prefix))
                    assert counted == number, (scope, prefix, is_summed)
            assert await store.check() == ()
            # Servers sum up the deltas of counters with their upkeep.
            await store.trim(NOON - DAY, 100, 1_000)

    async def test_system_task_takes_a_slot_of_its_account(self, store: FullStore) -> None:
        await store.join(a_node())
        await store.set_lane(owner_lane("ada"), 1)
        await add_tasks(
            store, a_task(owner="ada"), a_task(owner=system_owner("ada")), a_task(owner=system_owner("bob"))
        )
        started = {each.run.owner for each in await claim_all(store, decide=start_within_lanes())}
        assert len(started & {"ada", "horae:ada"}) == 1
        assert "horae:bob" in started

    async def test_revoked_account_blocks_its_system_tasks_and_used_up_quotas_do_not(self, store: FullStore) -> None:
        own, system, of_bob = await _add_both(store)
        for reason, expected in ((Reason.QUOTA, None), (Reason.OWNER_REVOKED, Reason.OWNER_REVOKED), (None, None)):
            await store.block_owner("ada", reason)
            assert (await get_facts(store, own)).block_reason is reason
            assert (await get_facts(store, system)).block_reason is expected
            assert (await get_facts(store, of_bob)).block_reason is None
            listed = {facts.task.id: facts.block_reason for facts in (await store.tasks(TaskFilter())).items}
            assert listed == {own.id: reason, system.id: expected, of_bob.id: None}

    async def test_stranded_system_tasks_are_left_out(self, store: FullStore) -> None:
        tasks = [a_task(owner=owner) for owner in ("ada", "horae:ada")]
        entries = [an_entry(task, state=EntryState.PARKED, lane="function:train") for task in tasks]
        await store.add([a_new_task(task, entries=[entry]) for task, entry in zip(tasks, entries, strict=True)])
        own, system = tasks
        for scope, ids in ((EVERY_OWNER, [own.id]), (EVERY_SYSTEM_OWNER, [system.id]), (None, [own.id, system.id])):
            assert [facts.task.id for facts in await store.stranded(scope, NOON + SECOND)] == ids
            assert (await store.waiting(scope, NOON + SECOND)).stranded == len(ids)
