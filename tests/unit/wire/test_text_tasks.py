"""Tasks that carry a text: what is created with and without an orchestrator, and how the text is read and replaced."""

from __future__ import annotations

import json
from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.task import Target, Task
from horae.service.tasks.edits import KEEP, Edits
from horae.service.tasks.task_request import NO_OPTIONS
from horae.testing.factories import NOON, a_run, a_task
from horae.wire.tasks.text_tasks import SURFACE, answer_of, is_orchestrator, replace_text, text_of, text_request


def task_of(kind: str, spec: Any, payload: Any = None) -> Task:
    return a_task(target=Target(kind, json.dumps(spec)), payload=json.dumps({} if payload is None else payload))


def test_text_goes_to_the_orchestrator_where_one_is_configured() -> None:
    request = text_request("https://o.example/", "n", "every 1h", "打卡", zone="UTC", now=NOON)
    assert json.loads(request.target.spec) == {
        "preset": "orchestrator",
        "url": "https://o.example/dispatch/execute",
    }
    assert (json.loads(request.payload), is_orchestrator(request.target)) == ({"text": "打卡"}, True)
    assert (request.labels or {})[SURFACE] == "scheduled-tasks"
    assert request.options != NO_OPTIONS


def test_text_is_published_where_no_orchestrator_is_configured() -> None:
    for url in (None, ""):
        request = text_request(url, "n", "every 1h", "打卡", zone="UTC", now=NOON)
        assert (request.target.kind, json.loads(request.target.spec)) == ("event", {"say": "打卡"})
        assert (request.labels, request.options) == (None, NO_OPTIONS)


def test_empty_text_is_refused() -> None:
    for url in (None, "https://o.example"):
        with pytest.raises(Refusal) as refusal:
            text_request(url, "n", "every 1h", "", zone="UTC", now=NOON)
        assert refusal.value.code == "missing_field"


@pytest.mark.parametrize(
    ("kind", "spec", "payload", "text"),
    [
        ("http", {"preset": "orchestrator"}, {"text": "a", "context": {"x": 1}}, "a"),
        ("http", {"preset": "orchestrator"}, {"input": "b"}, "b"),
        ("http", {"preset": "orchestrator"}, {"text": 7}, None),
        ("http", {"preset": "orchestrator"}, [], None),
        ("http", {"preset": None}, {"text": "a"}, None),
        ("event", {"topic": "x.y", "say": "c"}, None, "c"),
        ("event", {"topic": "x.y", "say": None}, None, None),
        ("function", {"name": "say", "say": "d"}, {"text": "d"}, None),
    ],
)
def test_text_of_each_target(kind: str, spec: Any, payload: Any, text: str | None) -> None:
    assert text_of(task_of(kind, spec, payload)) == text


def test_new_text_keeps_the_other_fields() -> None:
    orchestrated = task_of("http", {"preset": "orchestrator"}, {"text": "a", "context": {"x": 1}})
    edits = replace_text(orchestrated, "b", Edits(name="n"))
    assert (edits.name, edits.target) == ("n", KEEP)
    assert json.loads(str(edits.payload)) == {"text": "b", "context": {"x": 1}}
    published = task_of("event", {"topic": "x.y", "say": "c"})
    edits = replace_text(published, "d", Edits())
    assert edits.payload is KEEP
    assert isinstance(edits.target, Target)
    assert json.loads(edits.target.spec) == {"topic": "x.y", "say": "d"}


def test_answer_is_the_json_of_the_orchestrator_itself() -> None:
    task = task_of("http", {"preset": "orchestrator"}, {"text": "a"})
    other = task_of("http", {"preset": None})
    wrapped = a_run(task, result_json='{"status": 200, "body": {"reply": "hi"}}')
    assert answer_of(wrapped, task.target) == {"reply": "hi"}
    assert answer_of(wrapped, other.target) == {"status": 200, "body": {"reply": "hi"}}
    assert answer_of(a_run(task), task.target) is None
