"""Undo of bulk pauses and resumes: exact restoration, tasks that changed since, expiry, repetition and rights."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from horae.model.accounts.operation import UNDO_PERIOD, Operation, OperationState
from horae.model.accounts.pause_change import CANCEL_RETENTION, PAUSE_CHANGE_KIND, PAUSE_CHANGE_RETENTION
from horae.model.accounts.principal import Principal, Scope
from horae.model.change import Facts
from horae.model.outcome import Failed
from horae.model.task import Pause, PauseCause, Task, TaskState
from horae.ports.store import TaskFilter
from horae.runtime.stores import make_store
from horae.service.tasks.edits import Edits
from horae.service.tasks.operations.actions import ActionArguments, make_action
from horae.service.tasks.operations.bulk import BulkReport
from horae.service.tasks.operations.operations import OperationRequest
from horae.service.tasks.task_request import Options, TaskRequest
from horae.virtual_time import VirtualClock
from tests.unit.service.service_harness import ADA, BOB, CHIEF, ROOT, TARGET, ServiceHarness, code_of

ALL: Final = TaskFilter()
ROBOT: Final = Principal("ada", agent="robot")


@asynccontextmanager
async def undo_harness(clock: VirtualClock, url: str = "memory://") -> AsyncIterator[ServiceHarness]:
    store = make_store(url)
    await store.open()
    harness = ServiceHarness(store, clock=clock)
    try:
        yield harness
    finally:
        await harness.service.operations.close()
        await store.close()


async def act(
    harness: ServiceHarness, name: str, who: Principal = ADA, *, where: TaskFilter = ALL, **arguments: Any
) -> BulkReport:
    """Apply a bulk action as the front ends do, before the call returns."""
    operations = harness.service.operations
    log = operations.new_log(who, name)
    given = ActionArguments("UTC", **arguments)
    action = make_action(who, harness.tasks, name, given, harness.clock.now(), log)
    return await operations.act(who, OperationRequest(name, {}, arguments), where, action, log=log)


async def begin(harness: ServiceHarness, name: str, who: Principal = ADA) -> Operation:
    """Apply a bulk action in the background, and wait for its end."""
    operations = harness.service.operations
    log = operations.new_log(who, name)
    action = make_action(who, harness.tasks, name, ActionArguments("UTC"), harness.clock.now(), log)
    begun = await operations.begin(who, OperationRequest(name, {}, {}), ALL, action, log=log)
    return await operations.wait(who, begun.id)


async def undo(harness: ServiceHarness, name: str | None, who: Principal = ADA) -> Operation:
    assert name is not None
    begun = await harness.service.operations.undo(who, name)
    return await harness.service.operations.wait(who, begun.id)


async def load(harness: ServiceHarness) -> list[Facts]:
    return list((await harness.store.tasks(ALL, None, 1_000)).items)


async def garden(harness: ServiceHarness, number: int = 6) -> list[Task]:
    """Active tasks; the second is paused with a note and an end, the third without code."""
    tasks = [await harness.add(name=f"water {each}") for each in range(number)]
    until = harness.clock.now() + timedelta(days=1)
    await harness.tasks.pause(ADA, tasks[1].id, note="winter", until=until)
    await harness.tasks.pause(ADA, tasks[2].id, cause=PauseCause.ORPHANED, note="gone")
    return tasks


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("background", [False, True])
async def test_undo_of_a_pause_restores_the_stored_tasks(
    clock: VirtualClock, tmp_path: Path, kind: str, *, background: bool
) -> None:
    url = "memory://" if kind == "memory" else f"sqlite:///{tmp_path}/undo.db"
    async with undo_harness(clock, url) as harness:
        await garden(harness)
        before = await load(harness)
        harness.advance(timedelta(minutes=1))
        name = (await begin(harness, "pause")).id if background else (await act(harness, "pause", note="stop")).undo
        assert {each.status.state for each in await load(harness)} == {"paused"}
        assert {each.status.pause.cause for each in await load(harness) if each.status.pause} == {"requested"}
        harness.advance(timedelta(minutes=1))
        over = await undo(harness, name)
        assert (over.action, over.state, over.total, over.done, over.refused) == ("undo", "finished", 6, 6, 0)
        assert await load(harness) == before
        assert await harness.store.records(PAUSE_CHANGE_KIND) == ((), None), "its records are gone"


async def test_undo_of_a_resume_restores_each_pause(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        await garden(harness)
        before = await load(harness)
        report = await act(harness, "resume")
        assert {each.status.state for each in await load(harness)} == {"active"}
        harness.advance(timedelta(minutes=1))
        assert (await undo(harness, report.undo)).done == 2
        assert await load(harness) == before


async def test_undo_leaves_what_others_changed_and_reports_it(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        tasks = await garden(harness, 8)
        report = await act(harness, "pause", note="stop")
        harness.advance(timedelta(minutes=1))
        await harness.tasks.pause(ADA, tasks[0].id, note="another reason")
        await harness.tasks.resume(ADA, tasks[3].id)
        await harness.tasks.cancel(ADA, tasks[4].id)
        await harness.tasks.delete(ADA, tasks[5].id)
        await harness.tasks.edit(ADA, tasks[6].id, Edits(name="renamed"))
        assert report.undo is not None
        preview = await harness.service.operations.preview_undo(ADA, report.undo)
        assert (preview.matched, preview.done, len(preview.refused)) == (8, 3, 5)
        over = await undo(harness, report.undo)
        assert (over.total, over.done, over.refused) == (8, 3, 5)
        codes = {each.task: each.code for each in over.refusals}
        assert codes == {
            "water 0": "changed_since",
            "water 3": "changed_since",
            "water 4": "changed_since",
            "water 5": "no_such_task",
            "water 6": "changed_since",
        }
        found = {each.task.name: each.status for each in await load(harness)}
        assert found["water 0"].pause == Pause(clock.now() - timedelta(minutes=1), note="another reason")
        assert {name: status.state for name, status in found.items()} == {
            "water 0": "paused",
            "water 1": "paused",
            "water 2": "paused",
            "water 3": "active",
            "water 4": "cancelled",
            "renamed": "paused",
            "water 7": "active",
        }


async def test_pause_that_would_have_ended_meanwhile_is_not_restored(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        soon = harness.clock.now() + timedelta(minutes=5)
        short, resumed = [await harness.add(name=name) for name in ("short", "resumed")]
        await harness.tasks.pause(ADA, short.id, until=soon)
        paused = await act(harness, "pause", where=TaskFilter(name="short"), note="longer")
        await harness.tasks.pause(ADA, resumed.id, until=soon)
        started = await act(harness, "resume", where=TaskFilter(name="resumed"))
        harness.advance(timedelta(minutes=10))
        assert (await undo(harness, paused.undo)).done == 1
        assert (await undo(harness, started.undo)).done == 1
        assert [each.status.state for each in await load(harness)] == ["active", "active"]


async def test_restarted_task_cannot_become_failed_again(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        await harness.add(options=Options(retries=0, give_up_after=1))
        await harness.run_due(timedelta(hours=1), Failed("no water"))
        assert [each.status.state for each in await load(harness)] == ["failed"]
        report = await act(harness, "resume")
        over = await undo(harness, report.undo)
        assert [each.code for each in over.refusals] == ["restarted_since"]
        assert [each.status.state for each in await load(harness)] == ["active"]


async def test_undo_is_refused_a_second_time_and_after_its_period(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        operations = harness.service.operations
        await garden(harness)
        first = await act(harness, "pause")
        assert first.undo is not None
        done = await undo(harness, first.undo)
        assert await code_of(operations.undo(ADA, first.undo)) == "already_undone"
        assert (await operations.get(ADA, first.undo)).undone_by == done.id
        assert await code_of(operations.undo(ADA, done.id)) == "nothing_to_undo", "an undo is not undone"
        second = await act(harness, "pause")
        assert second.undo is not None
        harness.advance(UNDO_PERIOD)
        assert (await operations.get(ADA, second.undo)).can_undo(harness.clock.now())
        harness.advance(timedelta(seconds=1))
        assert await code_of(operations.undo(ADA, second.undo)) == "undo_expired"
        assert not (await operations.get(ADA, second.undo)).can_undo(harness.clock.now())
        await harness.store.drop_expired(harness.clock.now() + PAUSE_CHANGE_RETENTION, 1_000)
        assert (await harness.store.records(PAUSE_CHANGE_KIND)).items == ()


async def test_action_without_effect_and_other_actions_have_no_undo(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        await garden(harness)
        assert (await act(harness, "pause", note="stop")).undo is not None
        assert (await act(harness, "pause", note="stop")).undo is None, "it changed nothing"
        assert (await act(harness, "run")).undo is None
        listed = (await harness.service.operations.page(ADA)).items
        assert [each.action for each in listed] == ["pause"]


async def test_interrupted_undo_is_repeated_for_the_rest(clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    async with undo_harness(clock) as harness:
        await garden(harness)
        before = await load(harness)
        report = await act(harness, "pause", note="stop")
        assert report.undo is not None
        operations = harness.service.operations
        restored, restore = list[str](), type(harness.tasks).restore

        async def restore_two(tasks: Any, principal: Principal, change: Any, **options: Any) -> None:
            if len(restored) == 2:
                raise KeyError(change.task)
            restored.append(change.task)
            await restore(tasks, principal, change, **options)

        monkeypatch.setattr(type(harness.tasks), "restore", restore_two)
        over = await undo(harness, report.undo)
        assert (over.state, over.done) == (OperationState.INTERRUPTED, 2)
        monkeypatch.undo()
        assert (await operations.get(ADA, report.undo)).undone_by is None
        rest = await undo(harness, report.undo)
        assert (rest.state, rest.done) == (OperationState.FINISHED, 4)
        assert await load(harness) == before
        assert await code_of(operations.undo(ADA, report.undo)) == "already_undone"


async def test_action_that_an_error_ends_early_can_be_undone(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        tasks = await garden(harness)
        before, operations = await load(harness), harness.service.operations
        log = operations.new_log(ADA, "pause")
        assert log is not None
        given = ActionArguments("UTC", "stop")
        pause = make_action(ADA, harness.tasks, "pause", given, harness.clock.now(), log)

        async def pause_three(task: Task) -> None:
            if task == tasks[3]:
                raise KeyError(task.name)
            await pause(task)

        with pytest.raises(KeyError):
            await operations.act(ADA, OperationRequest("pause", {}, {}), ALL, pause_three, log=log)
        (kept,) = (await operations.page(ADA)).items
        assert (kept.id, kept.state, kept.total, kept.done) == (log.operation, "interrupted", None, 3)
        assert (await undo(harness, kept.id)).done == 3
        assert await load(harness) == before


async def test_undo_of_a_running_operation_is_refused(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        await garden(harness)
        operations = harness.service.operations
        log = operations.new_log(ADA, "pause")

        async def slowly(_task: Task) -> None:
            await harness.clock.pause(5)

        begun = await operations.begin(ADA, OperationRequest("pause", {}, {}), ALL, slowly, log=log)
        assert await code_of(operations.undo(ADA, begun.id)) == "operation_going"
        assert (await operations.wait(ADA, begun.id, 0.5)).state == "running"


async def test_only_those_who_see_the_operation_and_may_write_can_undo_it(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        await garden(harness)
        operations = harness.service.operations
        name = (await act(harness, "pause")).undo
        assert name is not None
        for who in (BOB, ROBOT):
            assert await code_of(operations.undo(who, name)) == "no_such_operation"
        for scopes in ({Scope.READ}, {Scope.READ, Scope.RUN}):
            reader = Principal("ada", scopes=frozenset(scopes))
            assert await code_of(operations.undo(reader, name)) == "not_allowed"
            assert await code_of(operations.preview_undo(reader, name)) == "not_allowed"
            assert await code_of(act(harness, "pause", reader)) == "not_allowed"
        assert {each.status.state for each in await load(harness)} == {"paused"}
        assert (await undo(harness, name, ROOT)).done == 6


async def test_undo_is_audited(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        await harness.add(who=BOB)
        name = (await act(harness, "pause", CHIEF)).undo
        over = await undo(harness, name, CHIEF)
        rows = (await harness.service.audit.page(CHIEF)).items
        assert [(row.action, row.subject) for row in rows[:2]] == [
            ("task.resume", (await load(harness))[0].task.id),
            ("operation.undo", name),
        ]
        assert [row.detail for row in rows[:2]] == [{"undo": name}, {"operation": over.id}]


async def test_thousands_of_tasks_are_restored_from_records_of_bounded_size(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        wishes = [TaskRequest(f"water {number}", "every 1h", TARGET, zone="UTC") for number in range(2_500)]
        await harness.tasks.create_many(ROOT, wishes, str)
        over = await begin(harness, "pause", ROOT)
        assert (over.done, over.changed) == (2_500, 2_500)
        page = await harness.store.records(PAUSE_CHANGE_KIND, None, None, 1_000)
        assert max(len(record.body) for record in page.items) < 500
        restored = await undo(harness, over.id, ROOT)
        assert (restored.total, restored.done) == (2_500, 2_500)
        assert await harness.store.count_tasks(TaskFilter(states=frozenset({TaskState.ACTIVE})), 9_999) == 2_500


async def test_undo_of_a_bulk_cancel_restores_the_tasks_that_were_open(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        tasks = await garden(harness)
        await harness.tasks.cancel(ADA, tasks[5].id)
        before = {each.task.id: each.status for each in await load(harness)}
        report = await act(harness, "cancel")
        assert {each.status.state for each in await load(harness)} == {"cancelled"}
        harness.advance(timedelta(minutes=1))
        over = await undo(harness, report.undo)
        assert (over.state, over.done, over.refused) == (OperationState.FINISHED, 5, 0)
        after = {each.task.id: each.status for each in await load(harness)}
        assert {name: (each.state, each.pause) for name, each in after.items()} == {
            name: (each.state, each.pause) for name, each in before.items()
        }


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_cancel_of_a_task_is_undone_with_its_pause(clock: VirtualClock, tmp_path: Path, kind: str) -> None:
    url = "memory://" if kind == "memory" else f"sqlite:///{tmp_path}/undo.db"
    async with undo_harness(clock, url) as harness:
        _, paused, *_ = await garden(harness)
        before = await harness.tasks.get(ADA, paused.id)
        for _ in range(2):
            await harness.tasks.cancel(ADA, paused.id)
            harness.advance(timedelta(minutes=1))
            assert await harness.tasks.can_undo_cancel(ADA, paused.id)
            assert (await harness.tasks.undo_cancel(ADA, paused.id)).status == before.status
        assert not await harness.tasks.can_undo_cancel(ADA, paused.id)
        assert await code_of(harness.tasks.undo_cancel(ADA, paused.id)) == "not_cancelled"
        assert await code_of(harness.tasks.undo_cancel(BOB, paused.id)) == "no_such_task"


async def test_cancel_without_its_record_is_final(clock: VirtualClock) -> None:
    """The record expires after 30 days; a rejected task, one that had ended, and one that runs after others have none."""
    async with undo_harness(clock) as harness:
        task, ended, *_ = await garden(harness)
        await harness.tasks.cancel(ADA, task.id)
        (record,) = (await harness.store.records(PAUSE_CHANGE_KIND)).items
        assert record.expires == clock.now() + CANCEL_RETENTION
        await harness.store.drop_record(record.kind, record.key, record.version)
        assert await code_of(harness.tasks.undo_cancel(ADA, task.id)) == "cancel_is_final"
        follower = await harness.tasks.create(
            ADA, TaskRequest("dry", {"kind": "after", "links": [{"task": ended.id}]}, TARGET)
        )
        await harness.tasks.cancel(ADA, follower.id)
        assert await code_of(harness.tasks.undo_cancel(ADA, follower.id)) == "cancel_is_final"


async def test_agent_undoes_its_own_cancels_only(clock: VirtualClock) -> None:
    async with undo_harness(clock) as harness:
        task = await harness.tasks.create(ROBOT, TaskRequest("water", "every day at 9:00", TARGET))
        await harness.tasks.cancel(ROBOT, task.id)
        await harness.tasks.undo_cancel(ROBOT, task.id)
        await harness.tasks.cancel(ADA, task.id)
        harness.advance(timedelta(minutes=1))
        assert not await harness.tasks.can_undo_cancel(ROBOT, task.id)
        assert await code_of(harness.tasks.undo_cancel(ROBOT, task.id)) == "cancelled_by_another"
        assert (await harness.tasks.undo_cancel(ADA, task.id)).task.id == task.id
