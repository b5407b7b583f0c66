"""How the next command names a task: by its name where that finds it again, else by its id."""

from __future__ import annotations

from ..errors import Conflict, NotFound
from ..model.ids import SHORT_TASK_DIGITS
from ..model.task import Task
from .output.printer import Printer
from .session.command_session import CommandSession


async def task_reference(app: CommandSession, task: Task, out: Printer) -> str:
    """The name, unless it is ambiguous or finds another task; then the id, as short as a table shows it."""
    if not task.name.startswith("-"):
        try:
            if (await app.service.tasks.find_by_name(app.principal, task.name)).task.id == task.id:
                return task.name
        except (Conflict, NotFound):
            pass
    return short_task_id(out, task)


def short_task_id(out: Printer, task: Task) -> str:
    return out.short_ids([task.id], SHORT_TASK_DIGITS)[task.id]
