"""Whose tasks these surfaces show: the caller's own and nobody else's, not even to an admin."""

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
"""These surfaces list everything at once, in an order that no store keeps: so many tasks are looked at, and no more."""
KNOWN: Final = frozenset(TaskState) - {TaskState.CANCELLED}
"""What is cancelled is gone for clients that know only deletion."""


def own(who: Principal) -> Principal:
    """Their users were all alike: whoever may see everybody's tasks elsewhere is an ordinary user here."""
    return who._replace(admin=False)


async def gathered(
    service: Service,
    who: Principal,
    states: Collection[TaskState] | None = None,
    labels: tuple[tuple[str, str], ...] = (),
) -> list[Facts]:
    """All their tasks, oldest first."""
    wanted = TaskFilter(who.owner, None if states is None else frozenset(states), labels=labels)
    found: list[Facts] = []
    after: str | None = None
    while len(found) < MOST_LOOKED_AT:
        page = await service.tasks.page(own(who), wanted, after, LARGEST_PAGE)
        found += page.items
        after = page.after
        if after is None:
            break
    return found


async def latest_runs(service: Service, who: Principal, listed: Sequence[Facts]) -> dict[str, Run]:
    """The newest row of each, asked for in portions that every store takes."""
    found: dict[str, Run] = {}
    for begin in range(0, len(listed), LARGEST_PAGE):
        found |= await service.tasks.latest(own(who), listed[begin : begin + LARGEST_PAGE])
    return found


async def remove(service: Service, who: Principal, task_id: str) -> None:
    """The task and its history go. What is just running is asked to end; its task is cancelled, and no longer shown."""
    try:
        await service.tasks.delete(own(who), task_id)
    except Conflict as refusal:
        if refusal.code != "still_running":
            raise
        await service.tasks.cancel(own(who), task_id)
