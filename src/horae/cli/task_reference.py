"""Task names in commands and hints: a name that finds the task again, or its short id; and the nearest known name."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

from ..errors import Conflict, NotFound, Sentence
from ..model.ids import SHORT_TASK_DIGITS
from ..model.page import MAX_PAGE_SIZE
from ..model.task import Task
from .output.printer import Printer
from .output.styled_text import replace_unprintable
from .session.command_session import CommandSession

if TYPE_CHECKING:
    from ..choices import Language


async def task_reference(app: CommandSession, task: Task, out: Printer) -> str:
    """Return the name, or the short id where the name is ambiguous or finds another task."""
    if not task.name.startswith("-"):
        try:
            if (await app.service.tasks.find_by_name(app.principal, task.name)).task.id == task.id:
                return task.name
        except (Conflict, NotFound):
            pass
    return short_task_id(out, task)


def short_task_id(out: Printer, task: Task) -> str:
    return out.short_ids([task.id], SHORT_TASK_DIGITS)[task.id]


async def with_nearest(app: CommandSession, refusal: NotFound) -> NotFound:
    """Return the refusal with the nearest task name as hint; only the first page of names is compared."""
    page = await app.service.tasks.page(app.principal, limit=MAX_PAGE_SIZE)
    near = get_close_matches(str(refusal.facts.get("id", "")), [each.task.name for each in page.items], 1)
    if not near:
        return refusal
    en, zh = refusal.in_language("en"), refusal.in_language("zh")
    name = replace_unprintable(near[0])
    sentences = {"en": en._replace(hint=f"Did you mean '{name}'?"), "zh": zh._replace(hint=f"是不是“{name}”？")}
    return type(refusal)(refusal.code, cast("dict[Language, Sentence]", sentences), facts=refusal.facts)
