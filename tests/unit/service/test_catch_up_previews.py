"""Previews of catching up agree with what the service then does: resume in each mode, and backfill."""

from __future__ import annotations

import pytest

from horae.errors import NotAllowed
from horae.model.accounts.principal import SCOPES_OF, Principal, Quotas, Role
from horae.model.policy import MissedMode
from horae.ports.store import RunFilter, TaskFilter
from horae.service.tasks.catch_up_previews import compute_backfill, compute_resume_choices, count_backfill_left
from horae.service.tasks.demo_tasks import create_demo_tasks, remove_demo_tasks
from horae.service.tasks.operations.actions import ActionArguments, LoadedTasks, load_selected, make_action
from horae.service.tasks.operations.bulk import Bulk
from horae.testing.factories import HOUR, MINUTE, NOON
from tests.unit.service.service_harness import ADA, BOB, ServiceHarness, open_harness, refusal_of


@pytest.mark.parametrize("mode", ["skip", "latest", "all"])
async def test_resume_does_what_its_preview_says(mode: MissedMode) -> None:
    async with open_harness() as harness:
        task = await harness.add("every 10m")
        await harness.tasks.pause(ADA, task.id)
        harness.advance(HOUR + MINUTE)
        facts = await harness.tasks.get(ADA, task.id)
        choices = {choice.mode: choice for choice in compute_resume_choices(facts, harness.clock.now())}
        assert [(choice.runs, choice.skipped) for choice in choices.values()] == [(0, 6), (1, 5), (6, 0)]
        await harness.tasks.resume(ADA, task.id, mode)
        skipped = (await harness.store.runs(RunFilter(task_id=task.id))).items
        assert sum(1 if run.span is None else run.span.count for run in skipped) == choices[mode].skipped
        assert bool(await harness.claim()) is bool(choices[mode].runs)


async def test_an_active_task_has_nothing_to_catch_up_and_a_cancelled_one_no_choices() -> None:
    async with open_harness() as harness:
        task = await harness.add("every 10m")
        facts = await harness.tasks.get(ADA, task.id)
        assert {(choice.runs, choice.skipped) for choice in compute_resume_choices(facts, NOON)} == {(0, 0)}
        await harness.tasks.cancel(ADA, task.id)
        assert compute_resume_choices(await harness.tasks.get(ADA, task.id), NOON) == ()


async def test_backfill_queues_what_its_preview_says() -> None:
    async with open_harness() as harness:
        task = await harness.add("0 * * * *")
        facts = await harness.tasks.get(ADA, task.id)
        preview = compute_backfill(facts, NOON - 8 * HOUR, NOON, listed=3)
        assert preview.number == 9
        assert preview.instants == tuple(NOON - hours * HOUR for hours in (8, 7, 6))
        await harness.tasks.backfill(ADA, task.id, preview.first, preview.last)
        assert count_backfill_left(await harness.tasks.get(ADA, task.id)) == 9
        (run,) = await harness.claim()
        assert count_backfill_left(await harness.tasks.get(ADA, task.id)) == 9
        await harness.settle(run)
        assert count_backfill_left(await harness.tasks.get(ADA, task.id)) == 8


async def test_selected_tasks_leave_out_absent_and_foreign_ones() -> None:
    async with open_harness() as harness:
        mine, yours = await harness.add(), await harness.add(who=BOB)
        ids = [mine.id, yours.id, "tsk_000000000000", mine.id]
        selected = await load_selected(harness.tasks, ADA, ids)
        assert [facts.task.id for facts in selected] == [mine.id]
        action = make_action(ADA, harness.tasks, "pause", ActionArguments("UTC", note="stop"), NOON)
        report = await Bulk(LoadedTasks(selected)).each(ADA, TaskFilter(), action)
        assert (report.matched, report.done) == (1, 1)
        pause = (await harness.tasks.get(ADA, mine.id)).status.pause
        assert pause is not None
        assert pause.note == "stop"


@pytest.mark.parametrize(
    ("action", "arguments", "code"),
    [
        ("explode", ActionArguments("UTC"), "bad_choice"),
        ("resume", ActionArguments("UTC", missed="some"), "bad_choice"),
        ("pause", ActionArguments("UTC", until="whenever"), "unclear_moment"),
        ("pause", ActionArguments("Nowhere/Land"), "unknown_zone"),
        ("skip", ActionArguments("UTC", number=-1), "bad_number"),
    ],
)
async def test_bad_arguments_are_refused_before_any_task(action: str, arguments: ActionArguments, code: str) -> None:
    harness = ServiceHarness()

    async def make() -> object:
        return make_action(ADA, harness.tasks, action, arguments, NOON)

    assert (await refusal_of(make())).code == code


async def test_demo_tasks_fit_the_quotas_of_a_member_and_are_removed_by_their_label() -> None:
    async with open_harness() as harness:
        kept = await harness.add()
        member = ADA._replace(quotas=Quotas(shortest_interval=MINUTE))
        assert await create_demo_tasks(harness.tasks, member) >= 3
        names = {facts.task.name for facts in (await harness.tasks.page(ADA)).items}
        assert {"demo-tick", "demo-演示"} < names
        before = len(names)
        await create_demo_tasks(harness.tasks, member)
        assert len((await harness.tasks.page(ADA)).items) == before
        assert (await remove_demo_tasks(harness.tasks, member)).done == before - 1
        assert [facts.task.id for facts in (await harness.tasks.page(ADA)).items] == [kept.id]


async def test_viewers_can_neither_load_nor_remove_demo_tasks() -> None:
    viewer = Principal("ada", scopes=SCOPES_OF[Role.VIEWER], role=Role.VIEWER)
    async with open_harness() as harness:
        for call in (create_demo_tasks, remove_demo_tasks):
            with pytest.raises(NotAllowed):
                await call(harness.tasks, viewer)
