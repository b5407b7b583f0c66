"""What a client is told of the tools: schemas that are ones, hints that are true, words in two languages, a page for each."""

from __future__ import annotations

from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import horae
from horae.mcp_server import messages
from horae.mcp_server.catalogue import TOOLS, list_tools
from horae.mcp_server.messages import Message
from horae.mcp_server.refusals import CATALOGUE
from horae.mcp_server.server import INSTRUCTIONS

ROOM = Path(horae.__file__).parent / "mcp_server"
CODE = "".join(path.read_text(encoding="utf-8") for path in ROOM.glob("*.py") if path.name != "words.py")
PAGE = (Path(horae.__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
LOOKING = {"list_tasks", "get_task", "explain_task", "list_runs", "get_run", "preview_schedule", "whoami"}


@pytest.mark.parametrize("name", TOOLS)
def test_its_schemas_are_ones(name: str) -> None:
    entry = TOOLS[name]
    for schema in (entry.input_schema, entry.output_schema):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert set(schema["required"]) <= set(schema["properties"])
    # Some hosts of models refuse tools whose arguments are a choice of shapes.
    assert not {"oneOf", "anyOf", "allOf"} & set(entry.input_schema)
    assert all(each.get("description") for each in entry.input_schema["properties"].values())


@pytest.mark.parametrize("name", TOOLS)
def test_its_hints_are_complete_and_true(name: str) -> None:
    hints = TOOLS[name].annotations
    assert hints.title
    assert hints.read_only_hint is (name in LOOKING)
    assert hints.destructive_hint is (name == "cancel_task")
    assert hints.open_world_hint is (name == "run_task_now")
    assert hints.idempotent_hint is (name not in {"schedule_task", "run_task_now"})


@pytest.mark.parametrize("name", TOOLS)
def test_the_page_tells_of_it_and_of_all_that_it_takes(name: str) -> None:
    assert f"`{name}`" in PAGE
    section = PAGE.split(f"### `{name}`")[1].split("\n### ")[0]
    for argument in TOOLS[name].input_schema["properties"]:
        assert f"`{argument}`" in section, argument


def test_all_that_a_model_reads_before_its_first_call_is_short() -> None:
    told = [each.model_dump_json(exclude={"output_schema"}, exclude_none=True) for each in list_tools()]
    assert sum(map(len, told)) < 10_000
    assert len(INSTRUCTIONS) < 600


def places(text: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(text) if field}


@pytest.mark.parametrize("code", CATALOGUE)
def test_a_refusal_says_the_same_in_both_languages_is_raised_and_is_in_the_page(code: str) -> None:
    entry = CATALOGUE[code]
    assert places(entry.message) == places(entry.message_zh)
    assert places(entry.hint) == places(entry.hint_zh)
    assert f'refuse("{code}"' in CODE
    assert f"`{code}`" in PAGE


def sentences() -> dict[str, Message]:
    found: dict[str, Any] = vars(messages)
    return {name: value for name, value in found.items() if isinstance(value, Message)}


@pytest.mark.parametrize("name", sentences())
def test_a_sentence_says_the_same_in_both_languages_and_is_said(name: str) -> None:
    value = sentences()[name]
    assert places(value.en) == places(value.zh)
    assert f"{name}.told(" in CODE or f" {name}" in CODE.replace("import", "")
