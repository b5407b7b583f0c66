"""Declared shapes of targets: the same fields, choices, limits and defaults as the targets themselves check."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

from horae.model.limits import LOG_LINE_CHARACTERS
from horae.targets.command.programs import Programs
from horae.targets.command.settings import LIMIT_RANGES, read_settings
from horae.targets.command.spec import KEYS as COMMAND_KEYS
from horae.targets.command.spec import check_spec as check_command
from horae.targets.event.spec import check_spec as check_event
from horae.targets.http.spec import METHODS, read_spec
from horae.wire.shapes.targets import TARGET_SPECS


def defaults_of(kind: str) -> dict[str, Any]:
    properties = TARGET_SPECS[kind]["properties"]
    return {name: each["default"] for name, each in properties.items() if "default" in each}


def test_fields_and_defaults_are_those_of_the_checked_specifications() -> None:
    http = read_spec({"url": "https://example.com/"}, ()).to_json()
    assert http == {"url": "https://example.com/", **defaults_of("http")}
    assert set(TARGET_SPECS["http"]["properties"]) == {*http, "body"}
    assert TARGET_SPECS["http"]["properties"]["method"]["enum"] == list(METHODS)
    event = check_event({})
    assert event == defaults_of("event")
    assert TARGET_SPECS["event"]["properties"]["say"]["maxLength"] == LOG_LINE_CHARACTERS
    settings = read_settings({"allow": ["date"]})
    command = check_command({"argv": ["date"]}, settings, Programs(settings))
    assert command == {"argv": ["date"], **defaults_of("command")}
    assert tuple(TARGET_SPECS["command"]["properties"]) == COMMAND_KEYS
    limits = TARGET_SPECS["command"]["properties"]["limits"]["properties"]
    assert {name: each["minimum"] for name, each in limits.items()} == {
        name: least for name, (least, _) in LIMIT_RANGES.items()
    }


def test_shapes_are_json_schemas_and_accept_what_the_targets_accept() -> None:
    for shape in TARGET_SPECS.values():
        Draft202012Validator.check_schema(shape)
    accepted = {
        "http": {"url": "https://example.com/", "headers": {"A": ["x", {"secret": "b"}]}, "sign": {"secret": "s"}},
        "command": {"argv": ["date"], "environment": {"A": {"secret": "b"}}, "limits": {"cpu": 3}},
        "event": {"say": "hello"},
        "function": {"name": "shop.report"},
    }
    for kind, spec in accepted.items():
        Draft202012Validator(TARGET_SPECS[kind]).validate(spec)
