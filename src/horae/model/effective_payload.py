"""Payload of one run: the task's payload with the run's input, held to the limits of every payload."""

from __future__ import annotations

import json

from .limits import PAYLOAD_BYTES
from .placeholders import check_placeholders_in, recognise_template
from .refusals import refuse
from .run_input import RunInput
from .task import Task


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
