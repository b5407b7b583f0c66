"""Lookup of a run by its id, or of the newest run of a task."""

from __future__ import annotations

from typing import NamedTuple

from ..model.change import Facts
from ..model.run import Run, RunState
from ..ports.store import RunFilter
from .messages.refusals import refuse
from .session.command_session import CommandSession

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
