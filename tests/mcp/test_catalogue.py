"""The catalogue of tools: valid schemas, true annotations, messages in two languages, and docs/mcp.md."""

from __future__ import annotations

from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import horae
from horae.mcp_server import messages
from horae.mcp_server.catalogue import TOOLS, list_tools
from horae.mcp_server.refusals import CATALOGUE
from horae.mcp_server.server import INSTRUCTIONS
from horae.message import Message

PACKAGE = Path(horae.__file__).parent / "mcp_server"
CODE = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.glob("*.py") if path.name != "messages.py")
PAGE = (Path(horae.__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
READ_ONLY = {
    "list_tasks",
    "get_task",
    "explain_task",
    "list_runs",
    "get_run",
    "preview_schedule",
    "read_messages",
    "list_groups",
    "whoami",
}


@pytest.mark.parametrize("name", TOOLS)
def test_schemas_of_a_tool_are_valid(name: str) -> None:
    entry = TOOLS[name]
    for schema in (entry.input_schema, entry.output_schema):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert set(schema["required"]) <= set(schema["properties"])
    # Some model hosts refuse tools whose arguments are a union of shapes.
    assert not {"oneOf", "anyOf", "allOf"} & set(entry.input_schema)
    assert all(each.get("description") for each in entry.input_schema["properties"].values())


@pytest.mark.parametrize("name", TOOLS)
def test_annotations_of_a_tool_match_its_effects(name: str) -> None:
    hints = TOOLS[name].annotations
    assert hints.title
    assert hints.read_only_hint is (name in READ_ONLY)
    assert hints.destructive_hint is (name == "cancel_task")
    assert hints.open_world_hint is (name == "run_task_now")
    assert hints.idempotent_hint is (name not in {"schedule_task", "run_task_now", "send_message"})


@pytest.mark.parametrize("name", TOOLS)
def test_page_lists_every_tool_and_its_arguments(name: str) -> None:
    assert f"`{name}`" in PAGE
    section = PAGE.split(f"### `{name}`")[1].split("\n### ")[0]
    for argument in TOOLS[name].input_schema["properties"]:
        assert f"`{argument}`" in section, argument


def test_page_says_how_many_tools_there_are() -> None:
    numbers = dict(enumerate("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen".split(), 10))
    assert f"{numbers[len(TOOLS)]} tools, the same over" in PAGE


def test_tool_list_and_instructions_are_short() -> None:
    listed = [each.model_dump_json(exclude={"output_schema"}, exclude_none=True) for each in list_tools()]
    assert sum(map(len, listed)) < 12_400
    assert len(INSTRUCTIONS) < 600


def placeholders(text: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(text) if field}


@pytest.mark.parametrize("code", CATALOGUE)
def test_refusal_has_equal_placeholders_is_raised_and_documented(code: str) -> None:
    entry = CATALOGUE[code]
    assert placeholders(entry.message) == placeholders(entry.message_zh)
    assert placeholders(entry.hint) == placeholders(entry.hint_zh)
    assert f'refuse("{code}"' in CODE
    assert f"`{code}`" in PAGE


def message_values() -> dict[str, Message]:
    found: dict[str, Any] = vars(messages)
    return {name: value for name, value in found.items() if isinstance(value, Message)}


@pytest.mark.parametrize("name", message_values())
def test_message_has_equal_placeholders_and_is_used(name: str) -> None:
    value = message_values()[name]
    assert placeholders(value.en) == placeholders(value.zh)
    assert f"{name}.in_language(" in CODE or f" {name}" in CODE.replace("import", "")
