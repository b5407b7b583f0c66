"""`context.service`: operations on tasks as the principal of a run, with names and JSON values in and out."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from ..model.task import Task
from ..runtime.service_factory import principal_of_run
from ..wire.runs import run_json
from ..wire.tasks.task import task_json
from .handles import TaskHandle

if TYPE_CHECKING:
    from .horae import Horae


class AppRunService:
    """Implements `ports/target.py` RunService; the principal is read with each call, as its rights may have changed."""

    def __init__(self, app: Horae, task: Task) -> None:
        self._app = app
        self._task = task

    async def _acting(self) -> Horae:
        """Return the open app with the rights of the principal: each of its calls is made by that one."""
        acting = copy(self._app)
        acting.who = await principal_of_run(self._app.service, self._task)
        return acting

    async def _handle(self, task: str) -> TaskHandle:
        return await (await self._acting()).get(task)

    async def schedule(
        self,
        target: str | Mapping[str, Any],
        when: Any,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        **options: Any,
    ) -> str:
        return (await (await self._acting()).schedule(target, when, payload, key=key, **options)).id

    async def task(self, task: str) -> dict[str, Any]:
        return task_json(await (await self._handle(task)).facts())

    async def runs(self, task: str, limit: int = 20) -> list[dict[str, Any]]:
        handle = await self._handle(task)
        return [run_json(run, handle.name) for run in await handle.runs(limit)]

    async def run_now(self, task: str, payload: Mapping[str, Any] | None = None) -> str:
        return (await (await self._handle(task)).run_now(input=payload)).id

    async def pause(self, task: str, reason: str = "") -> None:
        await (await self._handle(task)).pause(reason)

    async def resume(self, task: str) -> None:
        await (await self._handle(task)).resume()

    async def cancel(self, task: str) -> None:
        await (await self._handle(task)).cancel()

    async def delete(self, task: str) -> None:
        await (await self._handle(task)).delete()
