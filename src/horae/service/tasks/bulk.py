"""One wish for many tasks: everything that a filter finds, task by task, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, NamedTuple, Protocol, TypeAlias

from ...errors import Refusal
from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.page import LARGEST_PAGE, Page
from ...model.task import Task
from ...ports.store import TaskFilter

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
        matched = 0
        refused: list[Refused] = []
        async for turned_down in in_turn(self._tasks, who, wanted, _nothing if dry_run else action):
            matched += 1
            if turned_down is not None:
                refused.append(turned_down)
            progress(matched)
        done = 0 if dry_run else matched - len(refused)
        return BulkReport(matched, done, tuple(refused[:_REMEMBERED]))


async def in_turn(tasks: Listing, who: Principal, wanted: TaskFilter, action: Action) -> AsyncIterator[Refused | None]:
    """One after the other, told when it had its turn: None, or how it was refused."""
    after: str | None = None
    while True:
        page = await tasks.page(who, wanted, after, LARGEST_PAGE)
        for facts in page.items:
            try:
                await action(facts.task)
            except Refusal as refusal:
                yield Refused(facts.task, refusal)
            else:
                yield None
        after = page.after
        if after is None:
            return


async def _nothing(_task: Task) -> None: ...
