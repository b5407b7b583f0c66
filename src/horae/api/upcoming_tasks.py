"""Lists tasks by due time (`sort=next`); with a filter, among the first 10,000 matches."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..model.ids import EPOCH
from ..model.page import MAX_PAGE_SIZE
from ..ports.store import TaskFilter
from ..service.tasks.tasks import Tasks
from ..wire.tasks import next_due

_MAX_SCANNED: Final = 10_000


async def list_by_due(tasks: Tasks, principal: Principal, task_filter: TaskFilter, limit: int) -> tuple[Facts, ...]:
    """Return up to `limit` tasks, soonest due first; tasks without a due time come last."""
    if task_filter == TaskFilter():
        return await tasks.upcoming(principal, limit)
    tasks_read: list[Facts] = []
    after: str | None = None
    while len(tasks_read) < _MAX_SCANNED:
        page = await tasks.page(principal, task_filter, after, MAX_PAGE_SIZE)
        tasks_read += page.items
        after = page.after
        if after is None:
            break
    return tuple(sorted(tasks_read, key=_due_order)[:limit])


def _due_order(facts: Facts) -> tuple[bool, datetime]:
    due = next_due(facts)
    return due is None, due or EPOCH
