"""Input of a run in the console: the fields of a form, and the lines that differ from the payload of the task."""

from __future__ import annotations

import pytest

from horae.console.run_inputs import DiffLine, compare_lines, read_input_fields
from horae.errors import Refusal
from horae.model.inputs.run_input import RunInput


def test_empty_field_is_no_input_and_the_mode_is_read() -> None:
    assert read_input_fields({}) is None
    assert read_input_fields({"input": " \n", "input_mode": "merge"}) is None
    assert read_input_fields({"input": " 1 ", "input_mode": "merge"}) == RunInput("merge", "1")
    assert read_input_fields({"input": "null", "input_mode": "x"}) == RunInput("replace", "null")
    with pytest.raises(Refusal) as refusal:
        read_input_fields({"input": "{", "input_mode": "merge"})
    assert (refusal.value.code, refusal.value.facts["name"]) == ("bad_run_input", "input.merge")


def test_lines_are_marked_and_long_texts_are_not_compared() -> None:
    assert compare_lines("a\nb\nc", "a\nx\nc") == (
        DiffLine("same", "a"),
        DiffLine("removed", "b"),
        DiffLine("added", "x"),
        DiffLine("same", "c"),
    )
    long = "\n".join(map(str, range(3_000)))
    assert {line.kind for line in compare_lines("a", long)} == {"same"}
