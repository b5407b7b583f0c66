"""Invisible characters in names are refused by every front end."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.wire.problems import ExitCode
from tests.cli.command_line import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.mark.parametrize("option", ["--name", "--key", "--lane"])
@pytest.mark.parametrize("hidden", ["\ufe0f", "\u3164", "\u034f"])
def test_add_refuses_invisible_characters_in_names(cli: Cli, option: str, hidden: str) -> None:
    named = ["--name", "report"] if option != "--name" else []
    done = cli("add", "every 1h", "--say", "x", *named, option, f"re{hidden}port", "--json")
    assert done.code == ExitCode.INVALID
    assert done.problem["code"] == "invisible_character"


def test_add_refuses_invisible_characters_in_labels(cli: Cli) -> None:
    done = cli("add", "every 1h", "--say", "x", "--label", "te\u115fam=ops", "--json")
    assert (done.code, done.problem["code"]) == (ExitCode.INVALID, "invisible_character")
    done = cli("add", "every 1h", "--say", "x", "--label", "team=o\u17b4ps", "--json")
    assert (done.code, done.problem["code"]) == (ExitCode.INVALID, "invisible_character")


def test_edit_refuses_invisible_characters_in_names(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "report")
    done = cli("edit", "report", "--name", "rep\u180bort", "--json")
    assert (done.code, done.problem["code"]) == (ExitCode.INVALID, "invisible_character")


def test_owners_agents_and_secrets_refuse_invisible_characters(cli: Cli) -> None:
    for arguments in (
        ("owner", "set", "a\u3164da", "--role", "member"),
        ("token", "make", "lap\ufe0ftop"),
        ("agent", "stop", "ro\u034fbot"),
        ("secret", "set", "to\ufe0fken", "-"),
    ):
        assert cli(*arguments, stdin="value").code != ExitCode.OK, arguments


def test_name_taken_from_a_sentence_leaves_invisible_characters_out(cli: Cli) -> None:
    done = cli("add", "every 1h", "--say", "☎\ufe0f call home", "--json")
    assert done.code == ExitCode.OK, done.err
    assert done.json["task"]["name"] == "☎ call home"
    assert done.json["task"]["target"]["say"] == "☎\ufe0f call home"
