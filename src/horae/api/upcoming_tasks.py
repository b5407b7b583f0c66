"""Tasks by what comes next; with a filter, of as many as can be looked at."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..model.ids import EPOCH
from ..model.page import LARGEST_PAGE
from ..ports.store import TaskFilter
from ..service.tasks.tasks import Tasks
from ..wire.tasks import next_due

_MOST: Final = 10_000


async def soonest(tasks: Tasks, who: Principal, wanted: TaskFilter, limit: int) -> tuple[Facts, ...]:
    if wanted == TaskFilter():
        return await tasks.upcoming(who, limit)
    found: list[Facts] = []
    after: str | None = None
    while len(found) < _MOST:
        page = await tasks.page(who, wanted, after, LARGEST_PAGE)
        found += page.items
        after = page.after
        if after is None:
            break
    return tuple(sorted(found, key=_order)[:limit])


def _order(facts: Facts) -> tuple[bool, datetime]:
    due = next_due(facts)
    return due is None, due or EPOCH
