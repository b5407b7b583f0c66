"""Task of an event as its run had it, so that streams, webhooks and reminders have the run's own payload and words."""

from __future__ import annotations

from ...errors import Refusal
from ...model.inputs.effective_payload import task_of_run
from ...model.inputs.placeholders import TemplateTask
from ...model.run import Run
from ...model.task import Task
from ...ports.previous import load_previous
from ...ports.store import Book


async def load_task_of_run(book: Book, task: Task, run: Run) -> Task:
    """Return the task with the input and the placeholders' values of a run.

    A task that was edited since, so that they no longer fit, is returned as it is.
    """
    if run.input is None and task.__class__ is not TemplateTask:
        return task
    previous = None if run.chain is None else await load_previous(book, run)
    try:
        return task_of_run(task, run, previous)
    except (Refusal, RecursionError):
        return task
