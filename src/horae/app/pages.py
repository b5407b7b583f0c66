"""Paginated listings of tasks and runs: await one for a list, or iterate it page by page with `async for`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from typing import TYPE_CHECKING, Any, Final

from ..model.run import Run
from ..ports.store import RunFilter, TaskFilter
from .handles import TaskHandle

if TYPE_CHECKING:
    from .horae import Horae

_PAGE_SIZE: Final = 500


class TaskListing:
    """`await app.tasks(state="paused")`, or `async for task in app.tasks(labels={"source": "import"})`."""

    def __init__(self, app: Horae, task_filter: TaskFilter, limit: int | None) -> None:
        self._app = app
        self._filter = task_filter
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[TaskHandle]:
        left = self._limit
        after: str | None = None
        while left is None or left > 0:
            size = _PAGE_SIZE if left is None else min(_PAGE_SIZE, left)
            page = await self._app.service.tasks.page(self._app.who, self._filter, after, size)
            for facts in page.items:
                yield TaskHandle(self._app, facts.task)
            left = None if left is None else left - len(page.items)
            after = page.after
            if after is None:
                return

    def __await__(self) -> Generator[Any, None, list[TaskHandle]]:
        return self._collect().__await__()

    async def _collect(self) -> list[TaskHandle]:
        return [task async for task in self]

    def __repr__(self) -> str:
        return "<tasks: await it for a list, or go through it with async for>"


class RunListing:
    """`await app.runs("backup")`, or `async for run in app.runs(state="failed", limit=None)`. Newest planned first."""

    def __init__(self, app: Horae, task: TaskHandle | str | None, run_filter: RunFilter, limit: int | None) -> None:
        self._app = app
        self._task = task
        self._filter = run_filter
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[Run]:
        left = self._limit
        after: str | None = None
        wanted = self._filter
        if self._task is not None:
            task = await self._app.get(self._task) if isinstance(self._task, str) else self._task
            wanted = wanted._replace(task_id=task.id)
        while left is None or left > 0:
            size = _PAGE_SIZE if left is None else min(_PAGE_SIZE, left)
            page = await self._app.service.runs.page(self._app.who, wanted, after, size)
            for run in page.items:
                yield run
            left = None if left is None else left - len(page.items)
            after = page.after
            if after is None:
                return

    def __await__(self) -> Generator[Any, None, list[Run]]:
        return self._collect().__await__()

    async def _collect(self) -> list[Run]:
        return [run async for run in self]

    def __repr__(self) -> str:
        return "<runs: await it for a list, or go through it with async for>"
