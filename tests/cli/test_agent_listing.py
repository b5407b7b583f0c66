"""Listing with an agent's token, and texts of account and node commands."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from horae.choices import Language
from tests.cli.command_line import Cli
from tests.cli.remote.server import RemoteCli

LANGUAGES: tuple[Language, ...] = ("en", "zh")


def test_agent_lists_its_own_tasks(tmp_path: Path) -> None:
    served = RemoteCli(tmp_path)
    try:
        token = served("token", "make", "bot", "--owner", "local", "--agent", "bot", "--json").json["text"]
        path = tmp_path / "bot.token"
        path.touch(mode=0o600)
        path.write_text(f"{token}\n", encoding="utf-8")
        served("add", "every 1h", "--say", "owner", "--name", "of-the-owner")
        mine = served("add", "every 1h, 3 times", "--say", "x", "--name", "mine", HORAE_TOKEN_FILE=str(path))
        assert mine.code == 0, mine.err
        listed = served("ls", HORAE_TOKEN_FILE=str(path))
        names = [each["name"] for each in served("ls", "--json", HORAE_TOKEN_FILE=str(path)).json]
    finally:
        served.stop()
    assert listed.code == 0, listed.err
    assert "mine" in listed.out
    assert names == ["mine"]


def test_invalid_token_hint_names_its_owner(tmp_path: Path) -> None:
    served = RemoteCli(tmp_path, members=("bob",))
    try:
        path = served.token_file("bob")
        made = served("token", "ls", "--json").json
        for each in made:
            if each["owner"] == "bob":
                served("token", "revoke", each["id"], "--yes")
        refused = {
            language: served("ls", "--json", "--lang", language, HORAE_TOKEN_FILE=str(path)).problem
            for language in LANGUAGES
        }
    finally:
        served.stop()
    assert refused["en"]["code"] == "bad_token"
    assert "--owner OWNER" in refused["en"]["hint"]
    assert "--owner 所有者" in refused["zh"]["hint"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_help_names_every_place_of_the_store(cli: Cli, language: Language) -> None:
    shown = "".join(cli.process("ls", "--help", "--lang", language).out.split())
    assert "$XDG_DATA_HOME/horae/horae.db" in shown


def test_show_without_a_node_does_not_mention_draining(cli: Cli) -> None:
    refused = cli("nodes", "show", "--json").problem
    assert "drain" not in refused["detail"]
    assert "nodes show" in refused["detail"]


def test_limit_of_one_is_singular(cli: Cli) -> None:
    cli("owner", "add", "bob", *shlex.split("--quota concurrent_runs=1 --quota active_tasks=2"))
    shown = cli("owner", "show", "bob").out
    assert "1 run at once" in shown
    assert "2 active tasks" in shown
