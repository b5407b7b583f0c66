"""The caller's own tasks: list, edit, pause, remove; no tasks of other owners, not even for an admin."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from ..errors import Conflict
from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..model.page import MAX_PAGE_SIZE
from ..model.refusals import refuse
from ..model.run import Run
from ..model.task import PauseCause, TaskState
from ..ports.store import TaskFilter
from .service import Service
from .tasks.edits import Edits, Keep

MAX_SCANNED: Final = 10_000
"""Clients that list everything at once, in an order that no store has, get at most this many tasks."""
VISIBLE_STATES: Final = frozenset(TaskState) - {TaskState.CANCELLED}
"""Cancelled tasks are hidden: these clients know only deletion."""
DISABLED: Final = "disabled"
"""Note of a pause that a client sees as `enabled: false`."""


def without_admin(principal: Principal) -> Principal:
    """Return the principal without admin rights: here all users are ordinary users."""
    return principal._replace(admin=False)


async def list_own_tasks(
    service: Service,
    principal: Principal,
    states: Collection[TaskState] | None = None,
    labels: tuple[tuple[str, str], ...] = (),
) -> list[Facts]:
    """Return all tasks of the caller, oldest first."""
    task_filter = TaskFilter(principal.owner, None if states is None else frozenset(states), labels=labels)
    tasks: list[Facts] = []
    after: str | None = None
    while len(tasks) < MAX_SCANNED:
        page = await service.tasks.page(without_admin(principal), task_filter, after, MAX_PAGE_SIZE)
        tasks += page.items
        after = page.after
        if after is None:
            break
    return tasks


async def get_own_task(service: Service, principal: Principal, task_id: str) -> Facts:
    """Return one of the caller's tasks. Raises `no_such_task`, also for a cancelled one."""
    facts = await service.tasks.get(without_admin(principal), task_id)
    if facts.status.state not in VISIBLE_STATES:
        raise refuse("no_such_task", id=task_id)
    return facts


async def latest_runs(service: Service, principal: Principal, tasks: Sequence[Facts]) -> dict[str, Run]:
    """Return the newest run of each task, read in batches that every store accepts."""
    runs: dict[str, Run] = {}
    for begin in range(0, len(tasks), MAX_PAGE_SIZE):
        runs |= await service.tasks.latest(without_admin(principal), tasks[begin : begin + MAX_PAGE_SIZE])
    return runs


async def delete_or_cancel(service: Service, principal: Principal, task_id: str) -> None:
    """Delete the task and its history. A running task is cancelled instead, and no longer shown."""
    try:
        await service.tasks.delete(without_admin(principal), task_id)
    except Conflict as refusal:
        if refusal.code != "still_running":
            raise
        await service.tasks.cancel(without_admin(principal), task_id)


async def edit_and_enable(
    service: Service,
    principal: Principal,
    facts: Facts,
    edits: Edits,
    *,
    enabled: bool | None,
    expected: int | None = None,
) -> Facts:
    """Edit the task, then enable or disable it. A dry run of the edit comes first, so that a refusal comes before any
    write. `expected` is the version that the caller has read; another one is refused."""
    principal, task_id = without_admin(principal), facts.task.id
    await service.tasks.edit(principal, task_id, edits, expected=expected, dry_run=True)
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
