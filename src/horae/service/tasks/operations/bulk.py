"""Bulk actions: apply one action to every task of a filter, each in its own transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, NamedTuple, Protocol, TypeAlias

from ....errors import Refusal
from ....model.accounts.principal import Principal
from ....model.change import Facts
from ....model.page import MAX_PAGE_SIZE, Page
from ....model.task import Task
from ....ports.store import TaskFilter

Action: TypeAlias = Callable[[Task], Awaitable[object]]
_MAX_REFUSALS: Final = 100


class RefusedAction(NamedTuple):
    task: Task
    refusal: Refusal


class BulkReport(NamedTuple):
    """`refused` holds the first hundred refusals; a refusal does not stop the others. `undo` is the id of the operation that
    can be undone, if any."""

    matched: int
    done: int
    refused: tuple[RefusedAction, ...] = ()
    undo: str | None = None


class Listing(Protocol):
    """Reads tasks by filter, page by page."""

    async def page(
        self, principal: Principal, task_filter: TaskFilter, after: str | None, limit: int
    ) -> Page[Facts]: ...


class Bulk:
    def __init__(self, tasks: Listing) -> None:
        self._tasks = tasks

    async def each(
        self,
        principal: Principal,
        task_filter: TaskFilter,
        action: Action,
        *,
        dry_run: bool = False,
        progress: Callable[[int], None] = lambda _done: None,
    ) -> BulkReport:
        """Apply the action page by page, in the order of creation; a task added after its page was read is left out.

        A dry run only counts.
        """
        matched = 0
        refused: list[RefusedAction] = []
        async for refusal in apply_to_each(self._tasks, principal, task_filter, _do_nothing if dry_run else action):
            matched += 1
            if refusal is not None:
                refused.append(refusal)
            progress(matched)
        done = 0 if dry_run else matched - len(refused)
        return BulkReport(matched, done, tuple(refused[:_MAX_REFUSALS]))


async def apply_to_each(
    tasks: Listing, principal: Principal, task_filter: TaskFilter, action: Action
) -> AsyncIterator[RefusedAction | None]:
    """Apply the action to each task and yield its result: None, or the refusal."""
    after: str | None = None
    while True:
        page = await tasks.page(principal, task_filter, after, MAX_PAGE_SIZE)
        for facts in page.items:
            try:
                await action(facts.task)
            except Refusal as refusal:
                yield RefusedAction(facts.task, refusal)
            else:
                yield None
        after = page.after
        if after is None:
            return


async def _do_nothing(_task: Task) -> None: ...
