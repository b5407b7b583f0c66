"""A task is edited and switched on or off by one request: in an order in which a refusal leaves all as it was."""

from __future__ import annotations

from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.task import PauseCause, TaskState
from ...service.service import Service
from ...service.tasks.edits import Edits, Keep
from .labels import DISABLED
from .own_tasks import own


async def edit_and_switch(
    service: Service, who: Principal, facts: Facts, edits: Edits, *, enabled: bool | None
) -> Facts:
    """The edit is tried first, so that whatever is refused is refused before anything was written."""
    mine, task_id = own(who), facts.task.id
    await service.tasks.edit(mine, task_id, edits, dry_run=True)
    over = facts.standing.state in (TaskState.COMPLETED, TaskState.FAILED)
    # Of what is over there is nothing to switch on before it has a new time.
    time_first = over and not isinstance(edits.when, Keep)
    if enabled and not time_first:
        await service.tasks.resume(mine, task_id)
    if enabled is False and facts.standing.state is TaskState.ACTIVE:
        await service.tasks.pause(mine, task_id, note=DISABLED)
    await service.tasks.edit(mine, task_id, edits)
    if time_first and enabled:
        await service.tasks.resume(mine, task_id)
    elif time_first:
        # A new time wakes what was over; a task that was not switched on stays off.
        await service.tasks.pause(mine, task_id, note=DISABLED)
    return await service.tasks.get(mine, task_id)


async def hold(service: Service, who: Principal, task_id: str, note: str) -> Facts:
    """Nothing of it starts from here on. What waits for more than its owner's word goes on waiting for that."""
    facts = await service.tasks.get(own(who), task_id)
    pause = facts.standing.pause
    if pause is not None and pause.cause is not PauseCause.REQUESTED:
        return facts
    return await service.tasks.pause(own(who), task_id, note=note)
