"""Declared tasks: orphaned when the declaration is gone, resumed when it is back."""

from __future__ import annotations

import asyncio

from horae.model.task import PauseCause, TaskState
from horae.service.runs.overview import NeedKind
from horae.service.tasks.functions.declared_tasks import CODE_KEY_PREFIX
from horae.testing.factories import HOUR
from tests.unit.service.service_harness import ADA, BOB, ServiceHarness, open_harness


async def declared(harness: ServiceHarness, *names: str) -> None:
    for name in names:
        await harness.add(key=CODE_KEY_PREFIX + name, name=name)
        await harness.service.declared_tasks.restore(ADA, name)


async def state_of(harness: ServiceHarness, name: str) -> tuple[TaskState, PauseCause | None]:
    standing = (await harness.tasks.find_by_name(ADA, CODE_KEY_PREFIX + name)).status
    return standing.state, None if standing.pause is None else standing.pause.cause


ACTIVE = (TaskState.ACTIVE, None)
ORPHANED = (TaskState.PAUSED, PauseCause.ORPHANED)


async def test_undeclared_task_is_orphaned_and_resumed_when_declared_again() -> None:
    async with open_harness() as harness:
        code = harness.service.declared_tasks
        await declared(harness, "water", "weed")
        assert await code.register_start(ADA, {"garden": ["water", "weed"]}) == ()
        assert await code.register_start(ADA, {"garden": ["weed"]}) == ("water",)
        assert (await state_of(harness, "water"), await state_of(harness, "weed")) == (ORPHANED, ACTIVE)
        needs = (await harness.service.overview.now(ADA)).needs
        assert [(need.kind, need.facts.task.name) for need in needs] == [(NeedKind.ORPHANED, "water")]
        assert await code.register_start(ADA, {"garden": ["weed"]}) == (), "only once"
        await declared(harness, "water")
        assert await code.register_start(ADA, {"garden": ["water", "weed"]}) == ()
        assert await state_of(harness, "water") == ACTIVE


async def test_empty_declaration_of_a_module_orphans_its_tasks() -> None:
    async with open_harness() as harness:
        await declared(harness, "water", "weed")
        await harness.service.declared_tasks.register_start(ADA, {"garden": ["weed", "water"]})
        assert await harness.service.declared_tasks.register_start(ADA, {"garden": []}) == ("water", "weed")


async def test_module_that_is_not_loaded_orphans_nothing() -> None:
    async with open_harness() as harness:
        await declared(harness, "water", "cook")
        await harness.service.declared_tasks.register_start(ADA, {"garden": ["water"], "kitchen": ["cook"]})
        assert await harness.service.declared_tasks.register_start(ADA, {"kitchen": ["cook"]}) == ()
        assert await harness.service.declared_tasks.register_start(ADA, {}) == ()
        assert await state_of(harness, "water") == ACTIVE


async def test_task_declared_in_another_module_is_not_orphaned() -> None:
    async with open_harness() as harness:
        code = harness.service.declared_tasks
        await declared(harness, "water", "weed")
        await code.register_start(ADA, {"garden": ["water", "weed"]})
        assert await code.register_start(ADA, {"garden": ["weed"], "greenhouse": ["water"]}) == ()
        assert await state_of(harness, "water") == ACTIVE
        assert await code.register_start(ADA, {"garden": ["weed"], "greenhouse": []}) == ("water",)


async def test_paused_or_cancelled_task_is_not_orphaned_or_resumed() -> None:
    async with open_harness() as harness:
        code = harness.service.declared_tasks
        await declared(harness, "water", "weed")
        await code.register_start(ADA, {"garden": ["water", "weed"]})
        await harness.tasks.pause(ADA, (await harness.tasks.find_by_name(ADA, "water")).task.id, note="holiday")
        await harness.tasks.cancel(ADA, (await harness.tasks.find_by_name(ADA, "weed")).task.id)
        assert await code.register_start(ADA, {"garden": []}) == ()
        assert await state_of(harness, "water") == (TaskState.PAUSED, PauseCause.REQUESTED)
        await code.restore(ADA, "water")
        await code.restore(ADA, "weed")
        await code.restore(ADA, "never heard of")
        assert await state_of(harness, "water") == (TaskState.PAUSED, PauseCause.REQUESTED)
        assert await state_of(harness, "weed") == (TaskState.CANCELLED, None)


async def test_occurrences_missed_while_orphaned_are_skipped_with_a_row() -> None:
    async with open_harness() as harness:
        await declared(harness, "water")
        await harness.service.declared_tasks.register_start(ADA, {"garden": ["water"]})
        await harness.service.declared_tasks.register_start(ADA, {"garden": []})
        harness.advance(3.5 * HOUR)
        assert await harness.claim() == []
        await harness.service.declared_tasks.restore(ADA, "water")
        (row,) = (await harness.runs.page(ADA)).items
        assert (row.state, row.reason, row.span is not None and row.span.count) == ("skipped", "paused", 3)


async def test_a_declaration_whose_task_was_deleted_is_no_orphan() -> None:
    async with open_harness() as harness:
        await declared(harness, "water")
        await harness.service.declared_tasks.register_start(ADA, {"garden": ["water"]})
        await harness.tasks.delete(ADA, (await harness.tasks.find_by_name(ADA, "water")).task.id)
        assert await harness.service.declared_tasks.register_start(ADA, {"garden": []}) == ()


async def test_declarations_of_one_owner_do_not_affect_another() -> None:
    async with open_harness() as harness:
        await declared(harness, "water")
        await harness.service.declared_tasks.register_start(ADA, {"garden": ["water"]})
        assert await harness.service.declared_tasks.register_start(BOB, {"garden": []}) == ()
        assert await state_of(harness, "water") == ACTIVE


async def test_concurrent_starts_orphan_a_task_once() -> None:
    async with open_harness() as harness:
        await declared(harness, "water", "weed")
        await harness.service.declared_tasks.register_start(ADA, {"garden": ["water", "weed"]})
        starts = await asyncio.gather(
            *(harness.service.declared_tasks.register_start(ADA, {"garden": ["weed"]}) for _ in range(5))
        )
        assert sorted(name for start in starts for name in start) == ["water"]
