"""JSON pointers of refusals: each names the field of the request body that has to change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.inputs.placeholders import check_placeholders, recognise_template
from horae.model.task import Target
from horae.runtime.target_kinds import TargetKinds
from horae.settings import read_settings
from horae.testing.factories import a_task
from horae.wire.pointers import pointer_to
from horae.wire.tasks.task import read_task

URL = "https://example.com/"


@pytest.mark.parametrize(
    ("kind", "spec", "pointer"),
    [
        ("http", {}, "/target/url"),
        ("http", {"url": URL, "method": "BREW"}, "/target/method"),
        ("http", {"url": URL, "success": ["many"]}, "/target/success"),
        ("http", {"url": URL, "redirects": 99}, "/target/redirects"),
        ("http", {"url": URL, "headers": {"X-A": 1}}, "/target/headers/X-A"),
        ("http", {"url": URL, "retries": 3}, "/target/retries"),
        ("command", {"argv": "date --utc"}, "/target/argv"),
        ("command", {"argv": ["rm"]}, "/target/argv"),
        ("command", {"argv": ["date"], "limits": {"cpu": 0}}, "/target/limits/cpu"),
        ("command", {"argv": ["date"], "environment": {"1": "x"}}, "/target/environment"),
        ("command", {"argv": ["date"], "success": []}, "/target/success"),
        ("event", {"topic": "run.started"}, "/target/topic"),
        ("event", {"say": 3}, "/target/say"),
        ("bell", {}, "/target/kind"),
    ],
)
def test_refusal_of_a_target_points_at_its_field(kind: str, spec: dict[str, Any], pointer: str) -> None:
    kinds = TargetKinds(read_settings({"HORAE_COMMAND_ALLOW": "date"}))
    with pytest.raises(Refusal) as refused:
        kinds.check(Target(kind, json.dumps(spec)), "{}")
    assert pointer_to(refused.value) == pointer


@pytest.mark.parametrize(
    ("payload", "spec", "pointer"),
    [
        ({"a": ["{horae.x}"]}, {"url": URL}, "/payload/a/0"),
        ({}, {"url": URL, "headers": {"X-A": "{horae.x}"}}, "/target/headers/X-A"),
        ({}, {"url": URL + "{horae.key}"}, "/target/url"),
    ],
)
def test_refusal_of_a_placeholder_points_at_its_text(payload: Any, spec: dict[str, Any], pointer: str) -> None:
    task = a_task(payload=json.dumps(payload), target=Target("http", json.dumps(spec)))
    with pytest.raises(Refusal) as refused:
        check_placeholders(recognise_template(task))
    assert pointer_to(refused.value) == pointer


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"after": [{"task": "a"}, {"task": "b", "on": "maybe"}]}, "/after/1/on"),
        ({"after": [{"task": "a", "when": 1}]}, "/after/0"),
        ({"after": [3]}, "/after/0"),
        ({"after": "a", "mode": "some"}, "/mode"),
        ({"after": "a", "when": "every 1h"}, "/after"),
        ({"mode": "all"}, "/after"),
        (
            {"when": "every 1h", "policies": {"retry": {"superceded_by_next": False}}},
            "/policies/retry/superceded_by_next",
        ),
        ({"when": "every 1h", "policies": {"notify": {"whom": "ops"}}}, "/policies/notify/whom"),
        ({"when": "every 1h", "policies": {"retires": 3}}, "/policies/retires"),
        ({"when": "every 1h", "past": {"count": 3}}, "/past/count"),
        ({"when": "every 1h", "colour": "red"}, "/colour"),
    ],
)
def test_refusal_of_a_request_points_at_its_field(fields: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_task({"name": "x", "say": "x", **fields})
    assert pointer_to(refused.value) == pointer
