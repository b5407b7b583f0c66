"""System tasks: hidden from lists, quotas, counts and feeds of their account, readable by id, written by Horae alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from horae.model.accounts.principal import Principal, Role
from horae.model.policy import Notify
from horae.model.task import PauseCause, Task, TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import TaskRequest
from horae.service.tasks.tasks import system_principal
from horae.testing.factories import DAY, HOUR, NOON
from tests.unit.service.service_harness import ADA, BOB, CHIEF, ROOT, TARGET, ServiceHarness, code_of, open_harness

TURN: Final = TaskRequest("turn", "every 1h", TARGET, zone="UTC", key="turn", lane="group")


async def make_both(harness: ServiceHarness) -> tuple[Task, Task]:
    return await harness.add(name="own"), await harness.service.system_tasks.create("ada", TURN)


async def test_lists_and_counts_leave_system_tasks_out_unless_asked_for() -> None:
    async with open_harness() as harness:
        own, system = await make_both(harness)
        service, readers = harness.service, (ADA, ROOT)
        harness.advance(HOUR)
        for run in await harness.claim():
            await harness.settle(run)
        for reader in readers:
            for who, task in ((reader, own), (reader.as_system_reader(), system)):
                assert [each.task.id for each in (await service.tasks.page(who)).items] == [task.id]
                assert await service.tasks.count(who) == (1, False)
                assert [each.task.id for each in await service.tasks.upcoming(who)] == [task.id]
                assert [each.task_id for each in (await service.runs.page(who)).items] == [task.id]
                planned = await service.planned.list(who, harness.clock.now(), harness.clock.now() + DAY, 100)
                assert {each.task.id for each in planned.items} == {task.id}
                overview = await service.overview.now(who)
                assert overview.tasks[TaskState.ACTIVE] == 1
                assert overview.outcomes == {"succeeded": 1}
                assert {each.event.task_id for each in await service.events.after(who, 0)} == {task.id}
        assert (await service.tasks.page(BOB.as_system_reader())).items == ()
        of_ada = await service.tasks.page(ROOT.as_system_reader(), TaskFilter("ada"))
        assert [each.task.id for each in of_ada.items] == [system.id]
        assert (await service.tasks.page(ROOT.as_system_reader(), TaskFilter("bob"))).items == ()


async def test_account_and_admin_read_a_system_task_by_id() -> None:
    async with open_harness() as harness:
        _, system = await make_both(harness)
        harness.advance(HOUR)
        run = next(each for each in await harness.claim() if each.task_id == system.id)
        for reader in (ADA, ROOT):
            assert (await harness.tasks.get(reader, system.id)).task == system
            assert (await harness.runs.get(reader, run.id)).task_id == system.id
            assert await harness.runs.lines(reader, run.id) == ()
            why = await harness.explanations.explain(reader, system.id, None)
            assert why.explanation.run is not None
            listed = await harness.runs.page(reader, RunFilter(task_id=system.id))
            assert [each.id for each in listed.items] == [run.id]
        assert await code_of(harness.tasks.find_by_name(ADA, "turn")) == "no_such_task"
        robot = ADA._replace(agent="robot")
        for reader in (BOB, robot):
            assert await code_of(harness.tasks.get(reader, system.id)) == "no_such_task"
            assert await code_of(harness.runs.get(reader, run.id)) == "no_such_run"


Change = Callable[[ServiceHarness, Principal, str], Awaitable[object]]
NEVER_ALLOWED: Final[tuple[Change, ...]] = (
    lambda harness, who, task: harness.tasks.edit(who, task, Edits(name="mine")),
    lambda harness, who, task: harness.tasks.edit(who, task, Edits(name="mine"), dry_run=True),
    lambda harness, who, task: harness.tasks.cancel(who, task),
    lambda harness, who, task: harness.tasks.delete(who, task),
    lambda harness, who, task: harness.tasks.backfill(who, task, NOON, NOON + HOUR),
)
ADMIN_ONLY: Final[tuple[Change, ...]] = (
    lambda harness, who, task: harness.tasks.pause(who, task, cause=PauseCause.REQUESTED),
    lambda harness, who, task: harness.tasks.resume(who, task),
    lambda harness, who, task: harness.tasks.skip_next(who, task, 1),
    lambda harness, who, task: harness.tasks.run_now(who, task),
)


async def test_only_horae_changes_a_system_task() -> None:
    async with open_harness() as harness:
        _, system = await make_both(harness)
        for change in (*NEVER_ALLOWED, *ADMIN_ONLY):
            assert await code_of(change(harness, ADA, system.id)) == "system_task"
        for change in NEVER_ALLOWED:
            assert await code_of(change(harness, CHIEF, system.id)) == "system_task"
        for change in ADMIN_ONLY:
            await change(harness, CHIEF, system.id)
        await harness.tasks.edit(system_principal("ada"), system.id, Edits(name="renamed"))
        again = await harness.service.system_tasks.declare("ada", TURN)
        assert again.id == system.id
        await harness.service.system_tasks.delete("ada", system.id)
        assert await code_of(harness.tasks.get(ADA, system.id)) == "no_such_task"


async def test_account_stops_a_run_of_its_system_task() -> None:
    async with open_harness() as harness:
        _, system = await make_both(harness)
        harness.advance(HOUR)
        run = next(each for each in await harness.claim() if each.task_id == system.id)
        assert (await harness.runs.cancel(ADA, run.id)).cancel is not None
        assert await code_of(harness.runs.cancel(BOB, run.id)) == "no_such_run"


@pytest.mark.parametrize("owner", ["horae:ada", "horae:", "horae:bob"])
async def test_no_front_end_makes_a_task_for_a_system_owner(owner: str) -> None:
    async with open_harness() as harness:
        assert await code_of(harness.add(owner=owner, who=ROOT)) == "reserved_owner"
        assert await code_of(harness.add(owner=owner, who=ADA)) == "foreign_owner"
        assert await code_of(harness.service.accounts.put(CHIEF, owner)) == "bad_owner_name"


async def test_quotas_of_the_account_leave_system_tasks_out() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", active_tasks=1, runs_per_day=1, stored_tasks=1)
        for number in range(3):
            await harness.service.system_tasks.create("ada", TURN._replace(key=f"turn {number}", lane=None))
        own = await harness.add(who=ada)
        assert await code_of(harness.add(who=ada)) == "too_many_tasks"
        harness.advance(HOUR)
        await harness.service.daily_quota.enforce_owner("ada", harness.clock.now())
        assert len(await harness.claim()) == 4
        harness.advance(HOUR)
        await harness.service.daily_quota.enforce_owner("ada", harness.clock.now())
        started = {run.task_id for run in await harness.claim()}
        assert own.id not in started


async def test_system_task_of_a_revoked_account_does_not_run() -> None:
    async with open_harness() as harness:
        await harness.make_member("ada", Role.MEMBER)
        await make_both(harness)
        await harness.service.accounts.revoke(CHIEF, "ada")
        harness.advance(HOUR)
        assert [run for run in await harness.claim() if run.live] == []


async def test_lanes_and_placeholders_have_the_name_of_the_account() -> None:
    async with open_harness() as harness:
        _, system = await make_both(harness)
        assert system.lane == "ada/group"
        filled = await harness.service.system_tasks.create("ada", TURN._replace(key="other", lane="api:{owner}"))
        assert filled.lane == "ada/api:ada"


async def test_system_task_tells_the_destinations_of_its_account() -> None:
    async with open_harness() as harness:
        await harness.service.destinations.put(ADA, "ops", url="json://x/")
        options = TURN.options._replace(notify=Notify(("ops",), ("failed",)))
        made = await harness.service.system_tasks.create("ada", TURN._replace(options=options))
        assert made.policies.notify is not None
        missing = TURN.options._replace(notify=Notify(("absent",), ("failed",)))
        refused = harness.service.system_tasks.create("ada", TURN._replace(key="b", options=missing))
        assert await code_of(refused) == "unknown_destination"


async def test_filter_by_an_owner_still_finds_its_own_tasks_only() -> None:
    async with open_harness() as harness:
        own, _ = await make_both(harness)
        page = await harness.tasks.page(ROOT, TaskFilter("ada"))
        assert [each.task.id for each in page.items] == [own.id]
