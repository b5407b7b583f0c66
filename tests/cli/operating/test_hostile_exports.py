"""Malformed export files: every mistake is refused with its line, without a traceback."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from horae.cli.transfer.export_reader import MAX_LINE_CHARACTERS, read_export
from horae.errors import Refusal

HEADER = '{"horae": "export", "version": 1}'
TASK = {"id": "tsk_1", "name": "good", "when": "every 1h", "say": "x"}
RUN = {"task_id": "tsk_1", "planned": "2026-03-01T12:00:00Z", "state": "succeeded", "duration_ms": 1.5}
GROUP = {"folder": "main", "jid": "1@g.us", "name": "Main", "config": {"a": 1}}
GRID = {"kind": "every", "interval": "PT1H"}


def lines(*things: dict[str, Any] | str) -> list[str]:
    return [HEADER, *(each if isinstance(each, str) else json.dumps(each) for each in things)]


def refused(*things: dict[str, Any] | str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read_export("all.jsonl", lines(*things), None)
    return caught.value


def test_valid_export_is_read() -> None:
    read = read_export("all.jsonl", lines({"task": TASK}, {"run": RUN}, {"group": GROUP}), None)
    (run,) = read.runs
    assert (run.key, run.attempt, run.past.duration) == ("import:tsk_1", 1, timedelta(milliseconds=1.5))
    (group,) = read.groups
    assert (group.folder, group.fields["requires_trigger"]) == ("main", True)
    assert [each.code for each in group.notes] == ["nanoclaw_config"]


@pytest.mark.parametrize(
    "fields",
    [
        {"attempt": 0},
        {"attempt": 1_001},
        {"attempt": True},
        {"attempt": "1"},
        {"attempt": 10**400},
        {"planned": "2026-03-01T12:00:00"},
        {"planned": "yesterday"},
        {"planned": 5},
        {"started": "2026-03-01T12:00:00"},
        {"duration_ms": -1},
        {"duration_ms": 1e300},
        {"duration_ms": 10**400},
        {"duration_ms": "1"},
        {"duration_ms": True},
        {"state": "splendid"},
        {"state": ["succeeded"]},
        {"origin": "heaven"},
        {"origin": {}},
        {"error": {"not": "a text"}},
        {"error": "\ud800"},
        {"result": ["\ud800"]},
        {"task_id": ["tsk_1"]},
        {"task_id": None},
    ],
)
def test_invalid_run_is_refused(fields: dict[str, Any]) -> None:
    assert "3" in str(refused({"task": TASK}, {"run": {**RUN, **fields}}))


@pytest.mark.parametrize(
    "fields",
    [
        {"folder": "../../etc"},
        {"folder": "a/b"},
        {"folder": ""},
        {"folder": "x" * 65},
        {"folder": "main\n"},
        {"folder": 5},
        {"jid": 5},
        {"name": None},
        {"trigger": ["x"]},
        {"requires_trigger": "no"},
        {"is_main": 1},
        {"added": 5},
        {"config": [1]},
        {"surprise": 1},
        {"name": "\udfff"},
    ],
)
def test_invalid_group_is_refused(fields: dict[str, Any]) -> None:
    assert "2" in str(refused({"group": {**GROUP, **fields}}))


@pytest.mark.parametrize(
    "fields", [{"name": 5}, {"name": ""}, {"name": "a\nb"}, {"limit": -1}, {"limit": 1.5}, {"limit": "2"}]
)
def test_invalid_lane_is_refused(fields: dict[str, Any]) -> None:
    assert "2" in str(refused({"lane": {"name": "one", "limit": 2, **fields}}))


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "splendid"},
        {"state": ["active"]},
        {"key": 5},
        {"when": GRID, "created": "9999-12-31T23:59:59Z"},
        {"when": GRID, "created": "2026-03-01T12:00:00"},
        {"when": {**GRID, "interval": 5}, "created": "2026-03-01T12:00:00Z"},
        {"when": {"kind": "calendar", "every": "x"}, "created": "2026-03-01T12:00:00Z"},
        {"when": {**GRID, "repeat": 5}, "counted": "many"},
        {"labels": [1]},
        {"policies": 5},
        {"say": None, "target": {"kind": 5}},
    ],
)
def test_invalid_task_is_refused(fields: dict[str, Any]) -> None:
    assert "2" in str(refused({"task": {**TASK, **fields}}))


def test_line_length_and_depth_are_limited() -> None:
    assert refused({"task": {**TASK, "payload": "x" * MAX_LINE_CHARACTERS}}).code == "bad_export"
    refused('{"task": ' + '{"a":' * 5_000 + "1" + "}" * 5_001)
    refused("[" * 100_000)


@pytest.mark.parametrize("version", [0, -1, True, "1", None, 1.0])
def test_header_without_a_version_is_refused(version: object) -> None:
    with pytest.raises(Refusal) as caught:
        read_export("all.jsonl", [json.dumps({"horae": "export", "version": version})], None)
    assert caught.value.code == "bad_export"
