"""Data that a task keeps between its runs: JSON values by name, bounded, in one record."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.record import Record
from horae.model.task_data import (
    TASK_DATA_BYTES,
    TASK_DATA_KIND,
    check_value_name,
    decode_values,
    encode_value,
    task_data_write,
)


def test_values_are_stored_and_read_again() -> None:
    values = {"b": encode_value("b", [1, None]), "a": encode_value("a", "é")}
    writing = task_data_write("tsk_1", "ada", values, 3)
    assert writing.record == Record(TASK_DATA_KIND, "tsk_1", "ada", '{"a":"é","b":[1,null]}')
    assert writing.replacing == 3
    assert decode_values(writing.record) == values
    assert decode_values(None) == {}


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\0", "\ud800", object()])
def test_a_value_without_a_json_form_is_refused(value: Any) -> None:
    with pytest.raises(Refusal) as refused:
        encode_value("a", value)
    assert refused.value.code == "bad_task_data"


@pytest.mark.parametrize("name", ["", "x" * 101, 7])
def test_names_of_values_are_bounded(name: Any) -> None:
    with pytest.raises(Refusal):
        check_value_name(name)
    assert check_value_name("count") == "count"


def test_all_values_together_are_bounded() -> None:
    with pytest.raises(Refusal) as refused:
        task_data_write("tsk_1", "ada", {"a": encode_value("a", "x" * TASK_DATA_BYTES)}, None)
    assert refused.value.code == "task_data_too_large"
