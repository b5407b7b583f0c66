"""Hostile text in names and values is shown and never interpreted."""

from __future__ import annotations

import json

import pytest

from horae.cli.output.printer import json_text
from horae.cli.output.styled_text import cell_width, display_width, truncate_cell
from tests.cli.command_line import Cli

NAMES = [
    "<img src=x onerror=alert(1)>",
    "{{7*7}} {0} {name} %s $HOME `id`",
    "天" * 200,
    "[bold red]not markup[/bold red]",
    "'; DROP TABLE tasks; --",
    "-rf",
    "a" * 200,
]
UNPRINTABLE = ["\x1b[31mred\x1b[0m", "bell\x07", "two\nlines", "\u202eelddim", "c1\x9b31m"]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_name_is_printed_verbatim(cli: Cli, name: str) -> None:
    done = cli("add", "every 5m", f"--name={name}", "--say", "x", "--json")
    assert done.code == 0, done.err
    assert done.json["task"]["name"] == name
    for command in (["ls"], ["ls", "--plain"], ["show", name], ["why", name], ["overview"], ["pause", name]):
        shown = cli(*command[:1], "--", *command[1:]) if name.startswith("-") else cli(*command)
        if not name.startswith("-"):
            assert shown.code == 0, (command, shown.err)
            assert name in shown.out
    assert name in cli("ls", "--lang", "zh").out


@pytest.mark.parametrize("name", UNPRINTABLE)
def test_terminal_escapes_are_refused_in_names_and_escaped_elsewhere(cli: Cli, name: str) -> None:
    refused = cli("add", "every 5m", "--name", name, "--say", "x")
    assert refused.code == 6
    assert_inert(refused.err)
    assert_inert(cli("show", name).err)
    assert_inert(cli("ls", "--nonsense", name).err)
    assert_inert(cli(name).err)
    made = cli("add", "every 5m", "--name", "tick", "--say", name, "--payload", json.dumps({"x": name}))
    assert made.code == 0, made.err
    assert_inert(made.out)
    cli("pause", "tick", "--reason", name)
    for command in (
        ["ls"],
        ["show", "tick"],
        ["why", "tick"],
        ["ls", "--plain"],
        ["ls", "--json"],
        ["show", "tick", "--json"],
    ):
        done = cli(*command)
        assert done.code == 0
        assert_inert(done.out + done.err)
    assert cli("show", "tick", "--json").json["task"]["pause"]["note"] == name


def assert_inert(text: str) -> None:
    assert all(sign.isprintable() or sign in "\n\t" for sign in text), repr(text)


def test_json_output_is_valid_with_any_text() -> None:
    for text in (*NAMES, *UNPRINTABLE, "\ud800", "\u2028", "\x00"):
        assert json.loads(json_text({"x": text})) == {"x": text}
        assert_inert(json_text([text]))


@pytest.mark.parametrize("width", [1, 2, 5, 11, 80])
def test_truncated_text_fits_its_width(width: int) -> None:
    for text in NAMES:
        assert cell_width(truncate_cell(text, width)) <= width
    assert cell_width(truncate_cell("天" * 5, 10)) == display_width("天" * 5)


STRANGE = (
    *("[1]", "[]", "1", "null", "true", '""', '"text"', "{}", "NaN", "-Infinity", "1e999", "[[[]]]", '{"kind": 1}'),
    *('{"kind": null}', '{"kind": ["http"]}', '{"kind": "http"}', '{"kind": "http", "url": 5}', '{"a": "\\ud800"}'),
    *('{"kind": "event", "topic": []}', '{"kind": "command", "argv": {}}', '{"kind": "http", "url": "http://["}'),
    *("[" * 500 + "]" * 500, "[" * 200_000, "9" * 5_000, "@", "@.", "@binary", "-", " ", "", "\x00", "{'a': 1}"),
)


@pytest.mark.parametrize("option", ["--target", "--payload", "--body", "--header"])
def test_any_json_argument_is_accepted_or_refused(cli: Cli, option: str) -> None:
    (cli.directory / "binary").write_bytes(b"\xff\xfe\x00")
    work = {"--target": [], "--payload": ["--say", "x"]}.get(option, ["--http", "http://localhost/"])
    codes = {text: cli("add", "every 1h", *work, f"{option}={text}", "--dry-run").code for text in STRANGE}
    assert set(codes.values()) <= {0, 1, 2, 6}, codes
    assert any(codes.values()), "nothing of it was refused"


@pytest.mark.parametrize(
    "options",
    [
        ["--http", "http://["],
        ["--http", "http://localhost:99999/"],
        ["--http", ""],
        ["--say", "x", "--retries", "²"],
        ["--say", "x", "--retries", "--5"],
        ["--say", "x", "--retries", "9" * 5_000],
        ["--say", "x", "--give-up-after", "٣x"],
        ["--target", "[1]"],
    ],
)
def test_missing_target_and_bad_number_are_refused(cli: Cli, options: list[str]) -> None:
    assert cli("add", "every 10s", *options).code in (2, 6)
