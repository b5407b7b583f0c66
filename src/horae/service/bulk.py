"""One wish for many tasks: everything that a filter finds, task by task, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, Protocol, TypeAlias

from ..errors import Refusal
from ..model.change import Facts
from ..model.page import LARGEST_PAGE, Page
from ..model.principal import Principal
from ..model.task import Task
from ..ports.store import TaskFilter

Action: TypeAlias = Callable[[Task], Awaitable[object]]
_REMEMBERED: Final = 100


class Refused(NamedTuple):
    task: Task
    refusal: Refusal


class BulkReport(NamedTuple):
    """`refused` holds the first hundred; a refusal keeps nobody else from their turn."""

    matched: int
    done: int
    refused: tuple[Refused, ...] = ()


class Listing(Protocol):
    """Whoever can say which tasks a filter finds."""

    async def page(self, who: Principal, wanted: TaskFilter, after: str | None, limit: int) -> Page[Facts]: ...


class Bulk:
    def __init__(self, tasks: Listing) -> None:
        self._tasks = tasks

    async def each(
        self,
        who: Principal,
        wanted: TaskFilter,
        action: Action,
        *,
        dry_run: bool = False,
        progress: Callable[[int], None] = lambda _done: None,
    ) -> BulkReport:
        """Only what was there at the beginning of each page is touched, in order of creation; a dry run only counts."""
        matched = done = 0
        refused: list[Refused] = []
        after: str | None = None
        while True:
            page = await self._tasks.page(who, wanted, after, LARGEST_PAGE)
            for facts in page.items:
                matched += 1
                if not dry_run:
                    try:
                        await action(facts.task)
                        done += 1
                    except Refusal as refusal:
                        refused.append(Refused(facts.task, refusal))
                progress(matched)
            after = page.after
            if after is None:
                return BulkReport(matched, done, tuple(refused[:_REMEMBERED]))
