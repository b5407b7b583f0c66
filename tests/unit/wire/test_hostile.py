"""Any JSON is a task, an edit or a refusal, with a bounded message."""
# ruff: noqa: FBT003 - a boolean is one of the wrong things that may come

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.errors import Refusal
from horae.model.task import Task
from horae.service.tasks.edits import apply_edits
from horae.testing.factories import NOON, a_task
from horae.wire.tasks.targets import SHORT_TARGETS
from horae.wire.tasks.task import DEFINITION_FIELDS, definition_json, read_edits, read_task
from tests.unit.wire.strategies import json_values, made

SMALL: Final[dict[str, Any]] = {"name": "water", "when": "every 1h", "function": "garden.water"}
NO_WORD: Final = "\ud800"
"""Half a letter: JSON can spell it, and no file can keep it."""
NAN: Final = float("nan")


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def deep_object(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def with_each(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{**SMALL, name: value} for value in values]


def with_target(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{"name": "n", "when": "now", name: value} for value in values]


NO_TASKS: Final[list[Any]] = [
    *(None, 1, 1.5, True, "task", [], [SMALL], ()),
    *with_each("payload", NAN, float("inf"), deep(100_000), deep_object(100_000), {1, 2}, b"x"),
    *with_each("payload", NO_WORD, {"a": NO_WORD}, ["\udfff"], {NO_WORD: 1}),
    *with_each("labels", [], "a", 7, [["a", "b"]], deep(10_000), {"a": 1}, {"a": None}, {1: "b"}),
    *with_each("labels", {NO_WORD: "b"}, {"a": "\n"}, {str(number): "x" for number in range(99)}),
    *with_each("name", 1, [], {}, "", "\n", NO_WORD, "x" * 201, deep(10_000)),
    *with_each("when", 1, [], {}, "", "\n", "soonish", True, deep(10_000), {"kind": []}, NO_WORD),
    *with_each("when", *({"kind": kind} for kind in ("never", None, deep(1_000), 7, {"kind": "now"}, NO_WORD))),
    *(each for name in ("key", "lane", "owner", "zone") for each in with_each(name, 1, [], {}, True, deep(10_000))),
    *(each for name in ("key", "lane", "owner") for each in with_each(name, NO_WORD, "", "\n")),
    *with_each("policies", [], "skip", 7, True, 0, "", False, deep(10_000), deep_object(10_000)),
    *with_each("policies", {"retry": deep(10_000)}, {"timeout": deep(10_000)}, {"missed": {"mode": deep(10_000)}}),
    *with_target("target", deep(10_000), {"kind": "x", "y": deep_object(100_000)}, {"kind": NO_WORD}),
    *with_target("http", NAN, deep(100_000), {"url": NO_WORD}, NO_WORD),
    *(with_each(name, 1)[0] for name in (NO_WORD, "x" * 100_000, "\n", "")),
    {**SMALL, 1: 2},
    {**SMALL, ("a",): 2},
]


def read_whole(value: object) -> Task:
    """All the way to a task."""
    wish = read_task(value)
    return made(wish, a_task())


def read_edit(value: object) -> Task:
    return apply_edits(a_task(), read_edits(value), "UTC", NOON)


@pytest.mark.parametrize("number", range(len(NO_TASKS)))
def test_invalid_task_json_is_only_ever_refused(number: int) -> None:
    with pytest.raises(Refusal) as caught:
        read_whole(NO_TASKS[number])
    told = [str(caught.value), *(part for sentence in caught.value.sentences.values() for part in sentence)]
    assert all(len(text) < 1_000 for text in told)
    assert all(text.encode() for text in told if text)


def only(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


NO_EDITS: Final[list[Any]] = [
    *only("labels", [], "a", 7, [["a", "b"]], {"a": 1}, deep(10_000), {NO_WORD: "a"}),
    *only("name", None, 1, [], deep(10_000), NO_WORD),
    *only("when", None, 1, [], {}, deep(10_000)),
    *only("lane", 1, [], {}, NO_WORD),
    *only("zone", 1, [], "Mars/Olympus"),
    *only("payload", NAN, NO_WORD, deep(100_000)),
    *only("policies", [], 7, "", {"retry": []}, {"timeout": "soon"}),
    *only("target", [], {}, 7),
    {"http": "a", "function": "b"},
]


@pytest.mark.parametrize("number", range(len(NO_EDITS)))
def test_invalid_edit_json_is_only_ever_refused(number: int) -> None:
    with pytest.raises(Refusal):
        read_edit(NO_EDITS[number])


@st.composite
def nearly_tasks(draw: st.DrawFn) -> dict[str, Any]:
    said: dict[str, Any] = dict(SMALL)
    for name in draw(st.lists(st.sampled_from([*DEFINITION_FIELDS, *SHORT_TARGETS, "other"]), max_size=4)):
        said[name] = draw(json_values | st.dictionaries(st.sampled_from(["kind", "mode", "retry", "at"]), json_values))
    return said


@settings(max_examples=300, deadline=None)
@given(nearly_tasks() | json_values)
def test_any_json_is_a_task_or_refused(value: Any) -> None:
    for read in (read_whole, read_edit):
        try:
            task = read(value)
        except Refusal:
            continue
        assert definition_json(task)
