"""Edits a task and enables or disables it in one request, ordered so that a refusal leaves the task unchanged."""

from __future__ import annotations

from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.task import PauseCause, TaskState
from ...service.service import Service
from ...service.tasks.edits import Edits, Keep
from .labels import DISABLED
from .own_tasks import without_admin


async def edit_and_enable(
    service: Service, principal: Principal, facts: Facts, edits: Edits, *, enabled: bool | None
) -> Facts:
    """Edit the task, then enable or disable it. A dry run of the edit comes first, so that a refusal comes before any
    write."""
    principal, task_id = without_admin(principal), facts.task.id
    await service.tasks.edit(principal, task_id, edits, dry_run=True)
    is_over = facts.status.state in (TaskState.COMPLETED, TaskState.FAILED)
    # A task that has ended can be enabled only after the edit gives it a new time.
    edit_first = is_over and not isinstance(edits.when, Keep)
    if enabled and not edit_first:
        await service.tasks.resume(principal, task_id)
    if enabled is False and facts.status.state is TaskState.ACTIVE:
        await service.tasks.pause(principal, task_id, note=DISABLED)
    await service.tasks.edit(principal, task_id, edits)
    if edit_first and enabled:
        await service.tasks.resume(principal, task_id)
    elif edit_first:
        # A new time reactivates a task that had ended; without `enabled` it stays disabled.
        await service.tasks.pause(principal, task_id, note=DISABLED)
    return await service.tasks.get(principal, task_id)


async def pause_task(service: Service, principal: Principal, task_id: str, note: str) -> Facts:
    """Pause the task. A pause with another cause than a request, such as a pending approval, is kept."""
    facts = await service.tasks.get(without_admin(principal), task_id)
    pause = facts.status.pause
    if pause is not None and pause.cause is not PauseCause.REQUESTED:
        return facts
    return await service.tasks.pause(without_admin(principal), task_id, note=note)
