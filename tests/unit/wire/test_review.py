"""Task under review: every field that would run is shown, unambiguously."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horae.model.accounts.principal import AGENT_LABEL
from horae.model.task import Target, Task
from horae.model.text.invisible_characters import is_hidden
from horae.testing.factories import a_task
from horae.wire.tasks.review import json_line, review_of

HTTP = {
    "method": "PUT",
    "url": "https://example.org/hook",
    "headers": {"Authorization": ["Bearer ", {"secret": "tok"}], "X Odd": "a\u202eb"},
    "body": {"deep": [{"secret": "body_key"}]},
    "success": [200],
    "redirects": 3,
    "sign": {"secret": "sign_key"},
}
COMMAND = {
    "argv": ["sh", "-c", "echo 'a b' \"c\"", ""],
    "directory": "jobs",
    "environment": {"TOKEN": {"secret": "tok"}, "LD": "x"},
    "stdin": "payload",
}


def task_of(kind: str, spec: Any, payload: Any = None, **fields: Any) -> Task:
    target = Target(kind, json.dumps(spec, ensure_ascii=False))
    return a_task(target=target, payload=json.dumps({} if payload is None else payload, ensure_ascii=False))._replace(
        **fields
    )


def test_every_field_of_an_http_target_is_shown() -> None:
    lines = review_of(task_of("http", HTTP, {"amount": 7})).lines
    for expected in (
        'target.method = "PUT"',
        'target.url = "https://example.org/hook"',
        'target.headers.Authorization = ["Bearer ", {"secret": "tok"}]',
        'target.headers["X Odd"] = "a\\u202eb"',
        'target.body.deep = [{"secret": "body_key"}]',
        "target.redirects = 3",
        'target.sign = {"secret": "sign_key"}',
        "payload.amount = 7",
    ):
        assert expected in lines


def test_secrets_come_first_with_the_place_where_they_stand() -> None:
    review = review_of(task_of("http", HTTP, {"note": {"secret": "of_payload"}}))
    assert [(each.name, each.path) for each in review.secrets] == [
        ("tok", "target.headers.Authorization[1]"),
        ("body_key", "target.body.deep[0]"),
        ("sign_key", "target.sign"),
        ("of_payload", "payload.note"),
    ]
    for number, name in enumerate(("tok", "body_key", "sign_key", "of_payload")):
        assert f'SECRET "{name}"' in review.lines[number]
    assert "机密" in review_of(task_of("http", HTTP), "zh").lines[0]


def test_every_field_of_a_command_is_shown_and_its_arguments_are_quoted() -> None:
    lines = review_of(task_of("command", COMMAND)).lines
    for expected in (
        'target.argv = ["sh", "-c", "echo \'a b\' \\"c\\"", ""]',
        'target.environment.TOKEN = {"secret": "tok"}',
        'target.environment.LD = "x"',
        'target.stdin = "payload"',
        'target.directory = "jobs"',
    ):
        assert expected in lines


def test_schedule_policies_lane_labels_and_agent_are_shown() -> None:
    labels = ((AGENT_LABEL, "robot"), ("team", "ops"))
    lines = review_of(task_of("event", {"say": "x"}, lane="press", labels=labels, key="k")).lines
    assert lines[0] == 'made by the agent "robot"'
    paths = {line.partition(" = ")[0] for line in lines}
    assert {"id", "name", "when", "zone", "owner", "policies", "lane", "labels", "key"} <= paths
    assert 'lane = "press"' in lines
    assert 'labels = {"horae/agent": "robot", "team": "ops"}' in lines


def test_long_values_are_not_shortened() -> None:
    body = "x" * 60_000 + "THE END"
    assert any("THE END" in line for line in review_of(task_of("http", {"url": "u", "body": body})).lines)


# The first draw builds a table of all characters, which takes seconds on a busy machine.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.recursive(st.text() | st.integers(), lambda each: st.lists(each) | st.dictionaries(st.text(), each)))
def test_no_line_contains_a_hidden_character_and_values_can_be_read_back(value: Any) -> None:
    payload = json.loads(json.dumps(value))
    task = a_task()._replace(target=Target("event", "{}"), payload=json.dumps(payload))
    for line in review_of(task).lines:
        assert not any(is_hidden(each) for each in line)
    assert json.loads(json_line(payload)) == payload
