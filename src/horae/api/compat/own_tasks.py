"""The caller's own tasks: these surfaces show no tasks of other owners, not even to an admin."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from ...errors import Conflict
from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.page import LARGEST_PAGE
from ...model.run import Run
from ...model.task import TaskState
from ...ports.store import TaskFilter
from ...service.service import Service

MOST_LOOKED_AT: Final = 10_000
"""These surfaces list everything at once, in an order that no store has, so the number of scanned tasks is limited."""
KNOWN: Final = frozenset(TaskState) - {TaskState.CANCELLED}
"""Cancelled tasks are hidden: these clients know only deletion."""


def own(principal: Principal) -> Principal:
    """Return the principal without admin rights: in these surfaces all users are ordinary users."""
    return principal._replace(admin=False)


async def gathered(
    service: Service,
    principal: Principal,
    states: Collection[TaskState] | None = None,
    labels: tuple[tuple[str, str], ...] = (),
) -> list[Facts]:
    """Return all tasks of the caller, oldest first."""
    task_filter = TaskFilter(principal.owner, None if states is None else frozenset(states), labels=labels)
    tasks: list[Facts] = []
    after: str | None = None
    while len(tasks) < MOST_LOOKED_AT:
        page = await service.tasks.page(own(principal), task_filter, after, LARGEST_PAGE)
        tasks += page.items
        after = page.after
        if after is None:
            break
    return tasks


async def latest_runs(service: Service, principal: Principal, tasks: Sequence[Facts]) -> dict[str, Run]:
    """Return the newest run of each task, read in batches that every store accepts."""
    runs: dict[str, Run] = {}
    for begin in range(0, len(tasks), LARGEST_PAGE):
        runs |= await service.tasks.latest(own(principal), tasks[begin : begin + LARGEST_PAGE])
    return runs


async def remove(service: Service, principal: Principal, task_id: str) -> None:
    """Delete the task and its history. A running task is cancelled instead, and no longer shown."""
    try:
        await service.tasks.delete(own(principal), task_id)
    except Conflict as refusal:
        if refusal.code != "still_running":
            raise
        await service.tasks.cancel(own(principal), task_id)
