"""Input of a run in forms and on the run page: the field that is read, and the difference to the payload of the task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Final, Literal, NamedTuple, TypeAlias

from ..model.inputs.run_input import InputMode, RunInput
from ..model.refusals import refuse

_MAX_LINES: Final = 2_000
"""With more lines the result is shown without marks: the comparison would take too long."""
LineKind: TypeAlias = Literal["same", "added", "removed"]


class DiffLine(NamedTuple):
    kind: LineKind
    text: str


def read_input_fields(fields: Mapping[str, str]) -> RunInput | None:
    """Read the fields `input` and `input_mode`; None if the first is empty."""
    text = fields.get("input", "").strip()
    if not text:
        return None
    mode: InputMode = "merge" if fields.get("input_mode") == "merge" else "replace"
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refuse("bad_run_input", name=f"input.{mode}", value=error) from None
    return RunInput(mode, text)


def compare_lines(before: str, after: str) -> tuple[DiffLine, ...]:
    """Return the lines of `after` and those that it lacks, each with its kind."""
    old, new = before.split("\n"), after.split("\n")
    if max(len(old), len(new)) > _MAX_LINES:
        return tuple(DiffLine("same", line) for line in new)
    found: list[DiffLine] = []
    for tag, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found += [DiffLine("same", line) for line in new[new_start:new_end]]
        else:
            found += [DiffLine("removed", line) for line in old[old_start:old_end]]
            found += [DiffLine("added", line) for line in new[new_start:new_end]]
    return tuple(found)
