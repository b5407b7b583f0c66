"""Tasks and runs that commands name: lookup of a run, the name that finds a task again, and the nearest known name."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple, cast

from ..errors import Conflict, NotFound, Sentence
from ..model.change import Facts
from ..model.ids import SHORT_TASK_DIGITS
from ..model.page import MAX_PAGE_SIZE
from ..model.run import Run, RunState
from ..model.task import Task
from ..ports.store import RunFilter
from .messages.refusals import refuse
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


FAILURES = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST, RunState.CANCELLED})


class FoundRun(NamedTuple):
    """A run with its task."""

    run: Run
    facts: Facts

    @property
    def zone(self) -> str | None:
        return self.facts.task.schedule.zone


def is_run(name: str) -> bool:
    return name.startswith("run_")


async def find_run(app: CommandSession, name: str) -> FoundRun:
    """Return the run with this id, or the newest run of the task with this name; refuse a task without runs."""
    if is_run(name):
        run = await app.service.runs.get(app.principal, name)
        return FoundRun(run, await app.service.tasks.get(app.principal, run.task_id))
    facts = await app.service.tasks.find_by_name(app.principal, name)
    page = await app.service.runs.page(app.principal, RunFilter(task_id=facts.task.id), limit=1)
    if not page.items:
        raise refuse("no_runs_yet", name=facts.task.name, id=facts.task.id)
    return FoundRun(page.items[0], facts)


async def find_failed_run(app: CommandSession, name: str) -> FoundRun:
    """Return the run with this id, or the newest failed run of the task with this name."""
    if is_run(name):
        return await find_run(app, name)
    facts = await app.service.tasks.find_by_name(app.principal, name)
    page = await app.service.runs.page(app.principal, RunFilter(task_id=facts.task.id, states=FAILURES), limit=1)
    if not page.items:
        raise refuse("nothing_failed", name=facts.task.name, id=facts.task.id)
    return FoundRun(page.items[0], facts)
