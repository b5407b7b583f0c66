"""Payload of one run: the task's payload with the run's input and placeholders, held to the limits of every payload."""

from __future__ import annotations

import json

from ..ids import occurrence_key
from ..limits import PAYLOAD_BYTES
from ..refusals import refuse
from ..run import Run
from ..task import Task
from .placeholders import TemplateTask, check_placeholders_in, fill_placeholders, recognise_template
from .run_input import RunInput


def check_input(given: RunInput) -> None:
    """Refuse an input that is no JSON, is larger than a payload may be, or has an unknown placeholder."""
    place = f"input.{given.mode}"
    try:
        size = len(given.value.encode())
        value = json.loads(given.value)
    except (ValueError, RecursionError) as error:
        raise refuse("bad_run_input", name=place, value=type(error).__name__) from None
    if size > PAYLOAD_BYTES:
        raise refuse("input_too_large", name=place, size=size, most=PAYLOAD_BYTES)
    check_placeholders_in(place, value)


def with_input(task: Task, given: RunInput) -> Task:
    """Return the task with the payload of a run that has this input; refuses a result that is too large."""
    try:
        payload = given.payload_for(task.payload)
        size = len(payload.encode())
    except (ValueError, RecursionError) as error:
        raise refuse("bad_run_input", name=f"input.{given.mode}", value=type(error).__name__) from None
    if size > PAYLOAD_BYTES:
        raise refuse("input_too_large", name=f"input.{given.mode}", size=size, most=PAYLOAD_BYTES)
    return recognise_template(task._replace(payload=payload))


def task_of_run(task: Task, run: Run, previous: str | None = None) -> Task:
    """Return the task as this run calls its target: with the run's input, and with placeholders filled.

    `previous` are the results of its predecessors as JSON. Refuses a result that is too large.
    """
    if run.input is not None:
        task = with_input(task, run.input)
    if task.__class__ is TemplateTask:
        task = fill_placeholders(task, run, occurrence_key(task.id, run.origin, run.planned), previous)
    return task
