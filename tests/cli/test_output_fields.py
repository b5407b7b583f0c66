"""`--fields`: names are checked against the answer's fields before a command takes effect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from horae.cli import output_fields
from horae.cli.main import app
from tests.cli.command_line import Cli

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
OTHER_PROTOCOL = {"mcp"}
UNSCHEMED = {"service-install", "service-status", "service-uninstall"}


def leaf_commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from leaf_commands(command, (*words, name))
        else:
            yield (*words, name), command


COMMANDS = dict(leaf_commands(app))


def required_words(command: Any) -> list[str]:
    """Return an argument for each required parameter; values are checked after the fields."""
    found: list[str] = []
    for each in command.params:
        if each.required:
            value = "1" if each.name == "limit" else "x"
            found += [value] if each.param_type_name == "argument" else [each.opts[0], value]
    return found


def schema_fields(name: str) -> list[str]:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    shapes = [schema["items"]] if schema.get("type") == "array" else schema.get("oneOf", [schema])
    return list(dict.fromkeys(field for shape in shapes for field in shape["properties"]))


def test_every_command_that_answers_in_json_has_known_fields() -> None:
    assert set(output_fields._SCHEMA_BY_COMMAND) == {" ".join(words) for words in COMMANDS} - OTHER_PROTOCOL


@pytest.mark.parametrize("name", sorted(set(output_fields._FIELDS_BY_SCHEMA) - UNSCHEMED))
def test_known_fields_are_those_of_the_schema(name: str) -> None:
    assert output_fields._FIELDS_BY_SCHEMA[name].split() == schema_fields(name)


@pytest.mark.parametrize("words", sorted(set(COMMANDS) - {("mcp",)}), ids=" ".join)
@pytest.mark.parametrize("place", ["store", "server"])
def test_an_unknown_field_is_refused_before_anything_is_opened(cli: Cli, words: tuple[str, ...], place: str) -> None:
    arguments = [*words, *required_words(COMMANDS[words]), "--fields", "nonsense"]
    only_here = place == "server" and (
        words in (("station", "key"), ("station", "run"))
        or words[-1] in ("up", "worker", "route", "move", "install", "uninstall", "rotate")
    )
    if words == ("export",):
        arguments += ["--out", "file"]
    elif place == "server" and not only_here:
        arguments += ["--server", "http://127.0.0.1:9"]  # no listener there: a connection attempt would exit with 7
    done = cli(*arguments)
    assert (done.code, done.problem["code"], done.out) == (2, "unknown_output_field", ""), done.err
    assert list(cli.directory.iterdir()) == []


EFFECTS = [
    ["add", "every 5m", "--say", "x", "--name", "new"],
    ["edit", "report", "--name", "other"],
    ["pause", "report"],
    ["pause", "--all"],
    ["rm", "report", "--yes"],
    ["rm", "--all", "--yes"],
    ["cancel", "report"],
    ["skip", "report"],
    ["run", "report"],
    ["run", "--all"],
    ["token", "make", "laptop"],
    ["token", "make", "laptop", "--output", "file"],
    ["webhook", "add", "https://example.com/hook"],
    ["secret", "set", "key", "-"],
    ["owner", "add", "ada"],
    ["lane", "gpu", "2"],
]


@pytest.mark.parametrize("arguments", EFFECTS, ids=" ".join)
def test_refused_field_leaves_the_store_unchanged(cli: Cli, arguments: list[str]) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "report")
    before = {path.name: path.read_bytes() for path in cli.directory.iterdir()}
    refused = cli(*arguments, "--fields", "nonsense", stdin="hush")
    assert (refused.code, refused.problem["code"]) == (2, "unknown_output_field")
    assert {path.name: path.read_bytes() for path in cli.directory.iterdir()} == before


@pytest.mark.parametrize("arguments", EFFECTS, ids=" ".join)
def test_every_field_that_the_refusal_lists_is_in_the_answer(cli: Cli, arguments: list[str]) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "report")
    hint = cli(*arguments, "--fields", "nonsense", stdin="hush").problem["hint"]
    names = hint.removeprefix("The fields are: ").removesuffix(".").split(", ")
    done = cli(*arguments, "--fields", ",".join(names), stdin="hush")
    assert done.code == 0, done.err
    assert list(done.json) == names


def test_task_field_is_refused_for_a_bulk_answer(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "report")
    assert cli("pause", "--all", "--fields", "state").code == 2
    assert cli("pause", "report", "--fields", "state").json == {"state": "paused"}


def test_an_unknown_field_is_refused_where_the_list_is_empty(cli: Cli) -> None:
    assert cli("ls", "--fields", "nonsense").code == 2
    assert cli("ls", "--fields", "name").json == []
    assert cli("list", "--fields", "nonsense").code == 2


@pytest.mark.usefixtures("node")
def test_stream_lines_have_their_own_fields(cli: Cli) -> None:
    cli("add", "every 1h", "--function", "embed", "--name", "embed")
    *lines, run = cli("run", "embed", "--follow", "--fields", "text,state").lines
    assert lines
    assert all(list(line) == ["text"] for line in lines)
    assert run == {"state": "succeeded"}
    refused = cli("run", "embed", "--follow", "--fields", "text,nonsense")
    assert (refused.code, refused.out) == (2, "")
