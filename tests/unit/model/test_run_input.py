"""Inputs of runs: merge patches, the stored text, and the checks of a payload."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import Refusal
from horae.model.inputs.effective_payload import check_input, task_of_run, with_input
from horae.model.inputs.placeholders import TemplateTask, recognise_template
from horae.model.inputs.run_input import INPUT_MODES, RunInput, merge_patch, parse_input
from horae.model.limits import PAYLOAD_BYTES
from horae.testing.factories import a_run, a_task

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "patch", "merged"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_follows_rfc_7396(value: Any, patch: Any, merged: Any) -> None:
    """The examples of appendix A."""
    before = json.dumps(value)
    assert merge_patch(value, patch) == merged
    assert json.dumps(value) == before


@given(JSON, JSON)
def test_merge_patch_applied_twice_changes_nothing_more(value: Any, patch: Any) -> None:
    once = merge_patch(value, patch)
    assert merge_patch(once, patch) == once


@given(st.sampled_from(INPUT_MODES), JSON.map(json.dumps), st.none() | st.text(max_size=9))
def test_stored_text_is_json_and_is_parsed_back(mode: Any, value: str, agent: str | None) -> None:
    stored = RunInput(mode, value, agent)
    assert parse_input(stored.text) == stored
    assert json.loads(stored.text)[mode] == json.loads(value)


def test_numbers_of_an_input_stay_as_they_are_written() -> None:
    stored = RunInput("replace", "[1e400, 1.50]")
    assert parse_input(stored.text).payload_for("{}") == "[1e400, 1.50]"


def test_task_with_an_input_is_a_template_where_the_input_has_a_placeholder() -> None:
    task = a_task(payload='{"a":1}')
    assert with_input(task, RunInput("merge", '{"b":"{horae.key}"}')).__class__ is TemplateTask
    changed = with_input(task, RunInput("merge", '{"b":"{key}"}'))
    assert changed.__class__ is type(task)
    assert changed.payload == '{"a":1,"b":"{key}"}'


@pytest.mark.parametrize("value", ["{", '"\ud800"', "[" * 200_000])
def test_input_that_is_no_storable_json_is_refused(value: str) -> None:
    with pytest.raises(Refusal) as refusal:
        check_input(RunInput("merge", value))
    assert (refusal.value.code, refusal.value.facts["name"]) == ("bad_run_input", "input.merge")


def test_input_above_the_limit_of_a_payload_is_refused() -> None:
    check_input(RunInput("replace", f'"{"x" * (PAYLOAD_BYTES - 2)}"'))
    with pytest.raises(Refusal) as refusal:
        check_input(RunInput("replace", f'"{"x" * (PAYLOAD_BYTES - 1)}"'))
    assert refusal.value.code == "input_too_large"


def test_result_above_the_limit_of_a_payload_is_refused() -> None:
    task = a_task(payload=json.dumps({"a": "x" * (PAYLOAD_BYTES - 20)}))
    with pytest.raises(Refusal) as refusal:
        with_input(task, RunInput("merge", '{"b":"0123456789"}'))
    assert refusal.value.code == "input_too_large"


def test_input_cannot_be_merged_into_a_payload_that_is_no_json() -> None:
    with pytest.raises(Refusal) as refusal:
        with_input(a_task(payload="{"), RunInput("merge", "{}"))
    assert refusal.value.code == "bad_run_input"


def test_unknown_placeholder_is_named_with_its_place() -> None:
    check_input(RunInput("replace", '{"a":["{horae.key} {x}"]}'))
    with pytest.raises(Refusal) as refusal:
        check_input(RunInput("replace", '{"a":["{horae.day}"]}'))
    assert (refusal.value.code, refusal.value.facts["name"]) == ("unknown_placeholder", "input.replace.a.0")


@pytest.mark.parametrize(
    ("chosen", "payload"),
    [
        (None, {"day": "2026-03-01T12:00:00+00:00"}),
        (RunInput("merge", '{"n":"{horae.attempt}"}'), {"day": "2026-03-01T12:00:00+00:00", "n": "1"}),
        (RunInput("replace", '{"n":2}'), {"n": 2}),
    ],
)
def test_task_of_a_run_has_its_input_and_its_placeholders(chosen: RunInput | None, payload: object) -> None:
    task = recognise_template(a_task(payload='{"day":"{horae.planned}"}'))
    assert json.loads(task_of_run(task, a_run(task, input=chosen)).payload) == payload


def test_task_without_input_and_placeholders_is_that_of_its_run() -> None:
    task = a_task()
    assert task_of_run(task, a_run(task)) is task
