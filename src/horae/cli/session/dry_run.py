"""What a wish would come to, found out by the same code that would do it, without writing anything."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from ...model.change import Facts
from ...model.task import Task
from ...service.tasks.advisories import Advisory
from ...service.tasks.task_request import TaskRequest
from .workplace import CommandSession

Turn: TypeAlias = Literal["new", "changed", "same"]


class DryRun(NamedTuple):
    """A wish, the task that it meets, and the task that it would leave."""

    wish: TaskRequest
    before: Facts | None
    after: Task
    warnings: tuple[Advisory, ...] = ()

    @property
    def turn(self) -> Turn:
        if self.before is None:
            return "new"
        return "same" if self.before.task == self.after else "changed"


async def planned(app: CommandSession, wish: TaskRequest, *, paused: str | None = None) -> DryRun:
    """Everything that would refuse it refuses it now."""
    resolved = await app.resolve(wish)
    before, after = await app.service.tasks.preview_declaration(app.principal, resolved.request, paused=paused)
    return DryRun(resolved.request, before, after, app.with_advisories(resolved).warnings)
