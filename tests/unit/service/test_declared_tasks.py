"""Tasks that code declares: set aside when the declaration is gone, taken up when it is back; silence says nothing."""

from __future__ import annotations

import asyncio

from horae.model.task import PauseCause, TaskState
from horae.service.runs.overview import NeedKind
from horae.service.tasks.declared_tasks import CODE_KEY_PREFIX
from horae.testing.factories import HOUR
from tests.unit.service.service_harness import ADA, BOB, House, house_on


async def declared(house: House, *names: str) -> None:
    for name in names:
        await house.add(key=CODE_KEY_PREFIX + name, name=name)
        await house.service.declared_tasks.restore(ADA, name)


async def state_of(house: House, name: str) -> tuple[TaskState, PauseCause | None]:
    standing = (await house.tasks.find_by_name(ADA, CODE_KEY_PREFIX + name)).status
    return standing.state, None if standing.pause is None else standing.pause.cause


ACTIVE = (TaskState.ACTIVE, None)
ORPHANED = (TaskState.PAUSED, PauseCause.ORPHANED)


async def test_what_is_declared_no_more_is_set_aside_and_what_is_back_goes_on() -> None:
    async with house_on() as house:
        code = house.service.declared_tasks
        await declared(house, "water", "weed")
        assert await code.register_start(ADA, {"garden": ["water", "weed"]}) == ()
        assert await code.register_start(ADA, {"garden": ["weed"]}) == ("water",)
        assert (await state_of(house, "water"), await state_of(house, "weed")) == (ORPHANED, ACTIVE)
        needs = (await house.service.overview.now(ADA)).needs
        assert [(need.kind, need.facts.task.name) for need in needs] == [(NeedKind.ORPHANED, "water")]
        assert await code.register_start(ADA, {"garden": ["weed"]}) == (), "only once"
        await declared(house, "water")
        assert await code.register_start(ADA, {"garden": ["water", "weed"]}) == ()
        assert await state_of(house, "water") == ACTIVE


async def test_a_module_of_which_everything_is_gone_says_so_with_an_empty_list() -> None:
    async with house_on() as house:
        await declared(house, "water", "weed")
        await house.service.declared_tasks.register_start(ADA, {"garden": ["weed", "water"]})
        assert await house.service.declared_tasks.register_start(ADA, {"garden": []}) == ("water", "weed")


async def test_a_module_that_is_not_loaded_says_nothing() -> None:
    async with house_on() as house:
        await declared(house, "water", "cook")
        await house.service.declared_tasks.register_start(ADA, {"garden": ["water"], "kitchen": ["cook"]})
        assert await house.service.declared_tasks.register_start(ADA, {"kitchen": ["cook"]}) == ()
        assert await house.service.declared_tasks.register_start(ADA, {}) == ()
        assert await state_of(house, "water") == ACTIVE


async def test_what_moved_to_another_module_is_still_there() -> None:
    async with house_on() as house:
        code = house.service.declared_tasks
        await declared(house, "water", "weed")
        await code.register_start(ADA, {"garden": ["water", "weed"]})
        assert await code.register_start(ADA, {"garden": ["weed"], "greenhouse": ["water"]}) == ()
        assert await state_of(house, "water") == ACTIVE
        assert await code.register_start(ADA, {"garden": ["weed"], "greenhouse": []}) == ("water",)


async def test_what_somebody_paused_or_cancelled_stays_as_they_left_it() -> None:
    async with house_on() as house:
        code = house.service.declared_tasks
        await declared(house, "water", "weed")
        await code.register_start(ADA, {"garden": ["water", "weed"]})
        await house.tasks.pause(ADA, (await house.tasks.find_by_name(ADA, "water")).task.id, note="holiday")
        await house.tasks.cancel(ADA, (await house.tasks.find_by_name(ADA, "weed")).task.id)
        assert await code.register_start(ADA, {"garden": []}) == ()
        assert await state_of(house, "water") == (TaskState.PAUSED, PauseCause.REQUESTED)
        await code.restore(ADA, "water")
        await code.restore(ADA, "weed")
        await code.restore(ADA, "never heard of")
        assert await state_of(house, "water") == (TaskState.PAUSED, PauseCause.REQUESTED)
        assert await state_of(house, "weed") == (TaskState.CANCELLED, None)


async def test_what_was_missed_while_the_code_was_gone_is_skipped_with_a_row() -> None:
    async with house_on() as house:
        await declared(house, "water")
        await house.service.declared_tasks.register_start(ADA, {"garden": ["water"]})
        await house.service.declared_tasks.register_start(ADA, {"garden": []})
        house.later(3.5 * HOUR)
        assert await house.claim() == []
        await house.service.declared_tasks.restore(ADA, "water")
        (row,) = (await house.runs.page(ADA)).items
        assert (row.state, row.reason, row.span is not None and row.span.count) == ("skipped", "paused", 3)


async def test_a_declaration_whose_task_was_deleted_is_no_orphan() -> None:
    async with house_on() as house:
        await declared(house, "water")
        await house.service.declared_tasks.register_start(ADA, {"garden": ["water"]})
        await house.tasks.delete(ADA, (await house.tasks.find_by_name(ADA, "water")).task.id)
        assert await house.service.declared_tasks.register_start(ADA, {"garden": []}) == ()


async def test_the_code_of_one_owner_says_nothing_of_another() -> None:
    async with house_on() as house:
        await declared(house, "water")
        await house.service.declared_tasks.register_start(ADA, {"garden": ["water"]})
        assert await house.service.declared_tasks.register_start(BOB, {"garden": []}) == ()
        assert await state_of(house, "water") == ACTIVE


async def test_many_that_start_at_once_set_it_aside_once() -> None:
    async with house_on() as house:
        await declared(house, "water", "weed")
        await house.service.declared_tasks.register_start(ADA, {"garden": ["water", "weed"]})
        starts = await asyncio.gather(
            *(house.service.declared_tasks.register_start(ADA, {"garden": ["weed"]}) for _ in range(5))
        )
        assert sorted(name for start in starts for name in start) == ["water"]
