"""Read operations as the front ends make them, and their statements."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Final, TypeAlias

from bench.lists.filling import COMMON_LABEL, LARGE_OWNER, RARE_LABEL, RARE_TEXT, SMALL_OWNER
from horae import Horae
from horae.model.accounts.principal import Principal
from horae.model.run import LIVE_STATES, RunState
from horae.model.task import TaskState
from horae.ports.store import RunFilter, TaskFilter

Question: TypeAlias = Callable[[Horae], Awaitable[Any]]

_SMALL: Final = Principal(SMALL_OWNER)
_LARGE: Final = Principal(LARGE_OWNER)
_FAILED: Final = frozenset({TaskState.FAILED})
_LATER: Final = "tsk_later"


def tasks(wanted: TaskFilter, who: Principal | None = None) -> Question:
    return lambda app: app.service.tasks.page(who or app.who, wanted)


def runs(wanted: RunFilter, who: Principal | None = None) -> Question:
    return lambda app: app.service.runs.page(who or app.who, wanted)


async def _with_newest_runs(app: Horae) -> Any:
    """As `horae ls` shows it."""
    page = await app.service.tasks.page(app.who)
    return page, await app.service.tasks.latest(app.who, page.items)


async def _later_page(app: Horae) -> Any:
    """From the middle of all tasks on: a page ends with the number of its last task, and they were made one after the other."""
    return await app.service.tasks.page(app.who, after=await _middle(app))


async def _middle(app: Horae) -> str:
    found = app.__dict__.get(_LATER)
    if found is None:
        total = sum((await app.service.overview.now(app.who)).tasks.values())
        found = app.__dict__[_LATER] = str(total // 2)
    return str(found)


async def _run_of(app: Horae, state: TaskState) -> str:
    found = app.__dict__.get(state)
    if found is None:
        page = await app.service.tasks.page(app.who, TaskFilter(states=frozenset({state})), limit=10)
        found = app.__dict__[state] = page.items[-1].task.id
    return str(found)


async def _runs_of_one(app: Horae) -> Any:
    return await app.service.runs.page(app.who, RunFilter(task_id=await _run_of(app, TaskState.ACTIVE)))


async def _why(app: Horae) -> Any:
    return await app.service.explanations.explain(app.who, await _run_of(app, TaskState.ACTIVE), None)


async def _skipped_lately(app: Horae) -> Any:
    wanted = RunFilter(states=frozenset({RunState.SKIPPED}), since=app.clock.now() - timedelta(hours=2))
    return await app.service.runs.page(app.who, wanted)


def _states(*states: TaskState) -> TaskFilter:
    return TaskFilter(states=frozenset(states))


QUESTIONS: Final[Mapping[str, Question]] = {
    "overview": lambda app: app.service.overview.now(app.who),
    "overview of a small owner": lambda app: app.service.overview.now(_SMALL),
    "overview of a large owner": lambda app: app.service.overview.now(_LARGE),
    "tasks, first page": tasks(TaskFilter()),
    "tasks, first page, with the newest run of each": _with_newest_runs,
    "tasks, a page in the middle": _later_page,
    "tasks, active": tasks(_states(TaskState.ACTIVE)),
    "tasks, failed": tasks(_states(TaskState.FAILED)),
    "tasks, failed, of a small owner": tasks(_states(TaskState.FAILED), _SMALL),
    "tasks, completed": tasks(_states(TaskState.COMPLETED)),
    "tasks, cancelled, of which there are none": tasks(_states(TaskState.CANCELLED)),
    "tasks with a label that many have": tasks(TaskFilter(labels=(COMMON_LABEL,))),
    "tasks with a label that ten have": tasks(TaskFilter(labels=(RARE_LABEL,))),
    "tasks with that label and one that all have": tasks(TaskFilter(labels=(RARE_LABEL, ("source", "api")))),
    "tasks of a small owner with a label that many have": tasks(TaskFilter(labels=(COMMON_LABEL,)), _SMALL),
    "tasks, failed, with a label that many have": tasks(TaskFilter(None, _FAILED, labels=(COMMON_LABEL,))),
    "tasks by name": tasks(TaskFilter(name="fetch report 000017")),
    "tasks by a text that many have": tasks(TaskFilter(text="report")),
    "tasks by a text that ten have": tasks(TaskFilter(text=RARE_TEXT)),
    "tasks of a small owner": tasks(TaskFilter(), _SMALL),
    "tasks of a large owner": tasks(TaskFilter(), _LARGE),
    "upcoming": lambda app: app.service.tasks.upcoming(app.who),
    "upcoming of a small owner": lambda app: app.service.tasks.upcoming(_SMALL),
    "upcoming of a large owner": lambda app: app.service.tasks.upcoming(_LARGE),
    "runs, newest": runs(RunFilter()),
    "runs, failed": runs(RunFilter(states=frozenset({RunState.FAILED}))),
    "runs, skipped": runs(RunFilter(states=frozenset({RunState.SKIPPED}))),
    "runs, cancelled, of which there are none": runs(RunFilter(states=frozenset({RunState.CANCELLED}))),
    "runs, skipped in the last two hours": _skipped_lately,
    "runs, live": runs(RunFilter(states=LIVE_STATES)),
    "runs of one task": _runs_of_one,
    "runs of a small owner": runs(RunFilter(), _SMALL),
    "runs of a large owner": runs(RunFilter(), _LARGE),
    "runs of a large owner, failed": runs(RunFilter(states=frozenset({RunState.FAILED})), _LARGE),
    "why the newest occurrence": _why,
}


def forget_pages(path: str) -> None:
    """Let go of what the system keeps in memory of a file: what is asked next comes from the disk."""
    if hasattr(os, "posix_fadvise"):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)
