"""Manual, messages and schemas of server and account commands: complete, and the same in both languages."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from horae.cli.main import app
from horae.cli.messages import account_messages, account_refusals
from horae.cli.messages.operating_refusals import CATALOGUE as OPERATING
from horae.cli.messages.refusals import CATALOGUE as DAILY
from horae.client.refusals import CATALOGUE as CLIENT
from horae.message import Message
from horae.model.refusals import CATALOGUE as MODEL
from horae.service.accounts.refusals import CATALOGUE as SERVICE
from horae.web.refusals import CATALOGUE as WEB
from tests.cli.json_schemas import SCHEMAS

FAMILIES = ("login", "context", "token", "session", "owner", "webhook", "audit")
SCHEMA_NAMES = (
    *(
        "token",
        "tokens",
        "token-made",
        "owner",
        "owners",
        "webhook",
        "webhooks",
        "webhook-made",
        "delivery",
        "deliveries",
    ),
    *("audit-row", "audit", "audit-verify", "login", "contexts", "context-used", "forgotten"),
)
MANUAL = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
ROOM = Path(account_messages.__file__).parents[1]


def places(text: str) -> set[str]:
    return {field.removesuffix("_zh") for _, field, _, _ in Formatter().parse(text) if field}


def commands(name: str) -> list[tuple[str, Any]]:
    root: Any = app
    family = root.get_command(None, name)
    inner = getattr(family, "commands", None)
    return [(name, family)] if inner is None else list(inner.items())


@pytest.mark.parametrize("name", FAMILIES)
def test_manual_has_every_command_and_option(name: str) -> None:
    section = re.search(rf"^### `horae {name}\b.*?(?=^##|\Z)", MANUAL, re.MULTILINE | re.DOTALL)
    assert section is not None
    everywhere = MANUAL[: MANUAL.index("## Commands")]
    for verb, command in commands(name):
        assert verb in section.group()
        for parameter in command.params:
            if parameter.param_type_name == "option":
                option = next(each for each in parameter.opts if each.startswith("--"))
                assert f"`{option}" in section.group() + everywhere, (verb, option)


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_every_schema_is_closed_and_in_the_manual(name: str) -> None:
    schema = SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:horae:schema:{name}"
    if schema["type"] == "object":
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) == set(schema["properties"])
    assert name == "audit-row" or f"(schemas/{name}.json)" in MANUAL


def test_every_message_has_the_same_placeholders_in_both_languages_and_is_used() -> None:
    source = "".join(
        path.read_text(encoding="utf-8") for path in ROOM.rglob("*.py") if path.name != "account_messages.py"
    )
    for name, value in vars(account_messages).items():
        found = [each for each in (value.values() if isinstance(value, dict) else [value]) if isinstance(each, Message)]
        for words in found:
            assert places(words.en) == places(words.zh), name
            assert all(words), name
        if found:
            assert re.search(rf"(words|messages)\.{name}\b", source), name


def test_every_refusal_has_two_languages_a_unique_code_and_is_raised() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in ROOM.rglob("*.py"))
    for code, entry in account_refusals.CATALOGUE.items():
        assert places(entry.message) == places(entry.message_zh), code
        assert places(entry.hint) == places(entry.hint_zh), code
        assert f'refuse("{code}"' in source, code
    for other in (DAILY, OPERATING, CLIENT, MODEL, SERVICE, WEB):
        assert not account_refusals.CATALOGUE.keys() & other.keys()
    for other in (DAILY, OPERATING, MODEL, SERVICE, WEB):
        assert not CLIENT.keys() & other.keys()
