"""One task in the hands of whoever made it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ..lifecycle.explain import Explanation
from ..model.policy import MissedMode
from ..model.run import Run
from ..model.task import Standing, Task, TaskState
from ..service.wishes import Duration

if TYPE_CHECKING:
    from .horae import Horae


class TaskHandle:
    """What never changes of a task, and little of that: there may be many handles. All else is asked for anew."""

    __slots__ = ("_app", "created", "id", "name", "owner")

    def __init__(self, app: Horae, task: Task) -> None:
        self._app = app
        self.id = task.id
        self.name = task.name
        self.owner = task.owner
        self.created = task.created

    async def standing(self) -> Standing:
        return (await self._app.tasks.get(self._app.who, self.id)).standing

    async def state(self) -> TaskState:
        return (await self.standing()).state

    async def next_due(self) -> datetime | None:
        """When the next thing of this task comes due; None when nothing is left, or it is paused."""
        facts = await self._app.tasks.get(self._app.who, self.id)
        dues = [entry.due for entry in facts.entries if entry.stand != "asleep"]
        return min(dues, default=None)

    async def wait(self, timeout: Duration | None = None) -> Run:  # noqa: ASYNC109 - a wait has a timeout
        """Until the occurrence that is going on, or the next one, has ended; its last run. `TimeoutError` if not in time.

        When nothing of the task is left to come, that is the last run it had.
        """
        return await self._app.wait_for(self.id, timeout)

    async def runs(self, limit: int = 100) -> tuple[Run, ...]:
        """Newest first."""
        return (await self._app.ledger.runs(self._app.who, self.id, limit=limit)).items

    async def why(self, at: datetime | str) -> Explanation:
        return await self._app.why(self, at)

    async def pause(self, note: str = "", until: datetime | None = None) -> None:
        await self._app.tasks.pause(self._app.who, self.id, note=note, until=until)

    async def resume(self, missed: MissedMode = "skip") -> None:
        await self._app.tasks.resume(self._app.who, self.id, missed)

    async def cancel(self) -> None:
        await self._app.tasks.cancel(self._app.who, self.id)

    async def run_now(self) -> None:
        await self._app.tasks.run_now(self._app.who, self.id)

    async def skip_next(self, wanted: int = 1) -> None:
        await self._app.tasks.skip_next(self._app.who, self.id, wanted)

    def __repr__(self) -> str:
        return f"<task {self.name} {self.id}>"
