"""Options of the commands that request runs: an input that replaces or changes the payload of the task."""

from __future__ import annotations

from typing import Final

import click

from ..model.inputs.run_input import RunInput
from ..model.refusals import refuse
from ..wire.tasks.run_inputs import make_input
from .parameters import Values, option_group
from .task_options import json_option

input_options: Final = option_group(
    "inputs",
    click.option("--input", metavar="JSON|@FILE|-", help="Instead of the task's payload, for this alone."),
    click.option("--merge", metavar="JSON|@FILE|-", help="Changes of the task's payload; null removes a field."),
)


def read_input_options(inputs: Values) -> RunInput | None:
    replacement, patch = inputs["input"], inputs["merge"]
    if replacement is not None and patch is not None:
        raise refuse("one_input", name="input")
    if patch is not None:
        return make_input("merge", json_option("--merge", patch))
    return None if replacement is None else make_input("replace", json_option("--input", replacement))
