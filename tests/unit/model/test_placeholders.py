"""Placeholders: recognised and checked when a task is built, filled from the run, and never evaluated."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.errors import InvalidTask
from horae.model.inputs.placeholders import (
    PLACEHOLDERS,
    TemplateTask,
    check_placeholders,
    fill_placeholders,
    recognise_template,
)
from horae.model.limits import PAYLOAD_BYTES
from horae.model.run import Run, Span
from horae.model.task import Target, Task
from horae.schedule import Cron
from horae.testing.factories import a_run, a_task

PLANNED = datetime(2026, 7, 1, 7, tzinfo=UTC)
KEY = "key-1"


def template(payload: Any = None, **spec: Any) -> Task:
    task = a_task(
        schedule=Cron(expression="0 9 * * *", zone="Europe/Berlin"),
        payload=json.dumps(payload or {}),
        target=Target("http", json.dumps(spec)),
    )
    return recognise_template(task)


def a_run_of(task: Task, **fields: Any) -> Run:
    return a_run(task, planned=PLANNED, **fields)


def filled(text: str, previous: str | None = None, **fields: Any) -> str:
    task = template({"text": text})
    return str(json.loads(fill_placeholders(task, a_run_of(task, **fields), KEY, previous).payload)["text"])


def refusal_of(task: Task) -> InvalidTask:
    with pytest.raises(InvalidTask) as refusal:
        check_placeholders(task)
    return refusal.value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("planned", "2026-07-01T07:00:00+00:00"),
        ("planned_local", "2026-07-01T09:00:00+02:00"),
        ("first", "2026-07-01T07:00:00+00:00"),
        ("last", "2026-07-01T07:00:00+00:00"),
        ("count", "1"),
        ("attempt", "1"),
        ("key", KEY),
        ("previous", "null"),
    ],
)
def test_value_of_each_placeholder(name: str, value: str) -> None:
    assert filled(f"a {{horae.{name}}} b") == f"a {value} b"


def test_every_placeholder_has_a_value() -> None:
    text = " ".join(f"{{horae.{name}}}" for name in PLACEHOLDERS)
    assert "{horae." not in filled(text)


def test_merged_run_has_its_span() -> None:
    span = Span(PLANNED - timedelta(hours=2), PLANNED, 3)
    text = filled("{horae.first}/{horae.last}/{horae.count}", span=span)
    assert text == "2026-07-01T05:00:00+00:00/2026-07-01T07:00:00+00:00/3"


def test_later_attempt_has_its_number() -> None:
    assert filled("{horae.attempt}", attempt=3) == "3"


def test_values_are_not_searched_again() -> None:
    assert filled("{horae.previous}", previous='["{horae.key}"]') == '["{horae.key}"]'


def test_task_without_zone_has_its_local_instant_in_utc() -> None:
    task = recognise_template(a_task(payload='{"text":"{horae.planned_local}"}'))
    assert "2026-07-01T07:00:00+00:00" in fill_placeholders(task, a_run_of(task), KEY).payload


@pytest.mark.parametrize("text", ["{}", "{horae}", "{ horae.planned}", "{horae.planned", "${x}", "{{mustache}}", "%s"])
def test_other_braces_are_text(text: str) -> None:
    check_placeholders(template({"text": text}))
    assert filled(text) == text


def test_only_string_values_are_filled() -> None:
    task = template({"{horae.key}": [1, None, True, "{horae.key}", {"deep": "{horae.key}"}]})
    check_placeholders(task)
    payload = json.loads(fill_placeholders(task, a_run_of(task), KEY).payload)
    assert payload == {"{horae.key}": [1, None, True, KEY, {"deep": KEY}]}


def test_fields_of_the_target_are_filled() -> None:
    task = template(
        url="https://example.org", headers={"X-When": "{horae.planned}", "X-Key": ["k ", {"secret": "s"}]}, argv=["a"]
    )
    check_placeholders(task)
    result = fill_placeholders(task, a_run_of(task), KEY)
    spec = json.loads(result.target.spec)
    assert spec["headers"] == {"X-When": "2026-07-01T07:00:00+00:00", "X-Key": ["k ", {"secret": "s"}]}
    assert (spec["url"], spec["argv"], result.payload) == ("https://example.org", ["a"], task.payload)


def test_unknown_placeholder_is_refused_with_its_place_and_the_list() -> None:
    refusal = refusal_of(template({"list": ["", "{horae.plannd}"]}))
    assert (refusal.code, refusal.facts["name"]) == ("unknown_placeholder", "payload.list.1")
    assert "{horae.planned}" in refusal.hint
    assert "{horae.plannd}" in str(refusal)


@pytest.mark.parametrize(
    "token", ["{horae.}", "{horae.planned }", "{horae.Planned}", "{horae.planned:%Y}", "{horae.a.b}"]
)
def test_near_misses_are_unknown(token: str) -> None:
    assert refusal_of(template(argv=["x", token])).code == "unknown_placeholder"


def test_placeholder_in_a_field_that_is_not_filled_is_refused() -> None:
    refusal = refusal_of(template(url="https://example.org/{horae.planned}"))
    assert (refusal.code, refusal.facts["name"]) == ("placeholder_place", "target.url")


def test_target_that_is_no_object_has_no_fields() -> None:
    task = recognise_template(a_task(target=Target("other", '"{horae.planned}"')))
    check_placeholders(task)


def test_text_that_is_no_json_is_refused() -> None:
    assert refusal_of(recognise_template(a_task(payload="{horae.planned}"))).code == "bad_payload"


def test_result_that_is_too_large_is_refused() -> None:
    task = template({"text": "{horae.previous}"})
    with pytest.raises(InvalidTask) as refusal:
        fill_placeholders(task, a_run_of(task), KEY, "x" * PAYLOAD_BYTES)
    assert refusal.value.code == "payload_too_large"


def test_task_without_placeholders_is_no_template() -> None:
    task = a_task(payload='{"text":"{x}"}')
    assert recognise_template(task) is task
    check_placeholders(task)
    assert recognise_template(template({"text": "{horae.key}"})).__class__ is TemplateTask
    assert template({"text": "{horae.key}"})._replace(version=2).__class__ is TemplateTask


@settings(deadline=None)
@given(st.text(max_size=40))
def test_other_text_is_kept_exactly(text: str) -> None:
    if "{horae." not in text:
        assert filled(text + "{horae.count}") == text + "1"


def test_placeholder_of_an_older_release_stays_text() -> None:
    assert filled("{horae.gone} {horae.count}") == "{horae.gone} 1"
