"""Own tasks: no task of another owner and no cancelled one, and an edit that is refused as a whole."""

from __future__ import annotations

import pytest

from horae.errors import Refusal
from horae.model.task import TaskState
from horae.service.own_tasks import edit_and_enable, get_own_task
from horae.service.tasks.edits import Edits
from tests.unit.service.service_harness import ADA, BOB, ROOT, ServiceHarness


async def test_own_task_is_found_by_its_owner_only_and_not_by_an_admin() -> None:
    harness = ServiceHarness()
    task = await harness.add()
    assert (await get_own_task(harness.service, ADA, task.id)).task == task
    for other in (BOB, ROOT):
        with pytest.raises(Refusal) as refusal:
            await get_own_task(harness.service, other, task.id)
        assert refusal.value.code == "no_such_task"


async def test_cancelled_task_is_not_found() -> None:
    harness = ServiceHarness()
    task = await harness.add()
    await harness.tasks.cancel(ADA, task.id)
    with pytest.raises(Refusal) as refusal:
        await get_own_task(harness.service, ADA, task.id)
    assert refusal.value.code == "no_such_task"


async def test_edit_of_an_outdated_version_changes_nothing() -> None:
    harness = ServiceHarness()
    task = await harness.add()
    facts = await harness.tasks.get(ADA, task.id)
    await harness.tasks.edit(ADA, task.id, Edits(name="newer"))
    with pytest.raises(Refusal) as refusal:
        await edit_and_enable(harness.service, ADA, facts, Edits(name="older"), enabled=False, expected=1)
    assert refusal.value.code == "stale_version"
    after = await harness.tasks.get(ADA, task.id)
    assert (after.task.name, after.status.state) == ("newer", TaskState.ACTIVE)
