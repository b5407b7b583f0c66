"""Help output: fast, complete and correct; the manual covers the same commands."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from horae import parse
from horae.cli.command_table import ALIASES, COMMANDS, PANELS
from horae.cli.main import app
from horae.cli.messages.help_topics import TOPICS
from horae.version import __version__
from horae.wire.problems import ExitCode
from tests.cli.command_line import Cli

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
HEAVY = ("asyncio", "apsw", "rich", "pydantic", "horae.app", "horae.schedule", "horae.service", "horae.stores")
SHOWN = re.compile(r"^(?:now|once|every|calendar|window|cron|rrule) +(.+)$", re.MULTILINE)
SCHEDULES = [
    re.sub(r"\s*[(（].*", "", text)
    for message in TOPICS["schedules"]
    for line in SHOWN.findall(message)
    for text in line.split(" · ")
]
DAILY = [
    *next(panel for title, panel in PANELS if title.en == "Daily"),
    *("events", "overview", "lanes", "lane", "nodes"),
]


def command(name: str) -> Any:
    group: Any = app
    return group.get_command(None, name)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_list_has_the_summary_of_each_command(name: str) -> None:
    found = command(name)
    assert found is not None
    assert found.help.splitlines()[0] == COMMANDS[name].does.en


def test_topic_is_explained_in_both_languages(cli: Cli) -> None:
    listed = cli("help").out
    for topic in TOPICS:
        assert f"horae help {topic}\n" in listed
        assert cli("help", topic).out == TOPICS[topic].en
        assert cli("help", topic, "--lang", "zh").out == TOPICS[topic].zh
    assert {str(each.value) for each in ExitCode} <= set(re.findall(r"^\d+", TOPICS["exit-codes"].en, re.MULTILINE))
    for message in re.findall(r"^\d+", TOPICS["exit-codes"].en, re.MULTILINE):
        assert f"| `{message}` |" in MANUAL
    assert "--missed" in cli("help", "resume").out
    wrong = cli("help", "cooking")
    assert (wrong.code, "schedules, zones" in wrong.err) == (6, True)


@pytest.mark.parametrize("text", SCHEDULES)
def test_every_schedule_in_help_is_valid(text: str) -> None:
    assert parse(text, zone="UTC", now=datetime(2026, 11, 16, tzinfo=UTC)).zone


@pytest.mark.parametrize("alias", ALIASES)
def test_alias_shows_the_help_of_its_command(alias: str) -> None:
    assert command(alias).name == ALIASES[alias]


def test_every_command_is_in_one_panel(cli: Cli) -> None:
    assert sum(len(panel) for _, panel in PANELS) == len(COMMANDS)
    shown = cli("--help").out
    for title, panel in PANELS:
        assert f"{title.en}:" in shown
        for name, each in panel.items():
            assert re.search(rf"^  {name} +{re.escape(each.does.en[:40])}", shown, re.MULTILINE), name


def test_help_loads_nothing_heavy() -> None:
    """Unloaded modules cost nothing: this keeps help below 0.3 s."""
    found = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "horae", "--help"], capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in found.stderr.splitlines()}
    assert not [name for name in HEAVY if name in loaded]


def test_ls_loads_no_validation_or_terminal_library(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    found = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "horae", "ls"],
        capture_output=True,
        text=True,
        check=True,
        env=cli.environment(),
    )
    loaded = {line.rpartition("|")[2].strip() for line in found.stderr.splitlines()}
    assert not loaded & {"pydantic", "rich", "aiohttp", "cryptography"}


@pytest.mark.parametrize("name", DAILY)
def test_manual_has_every_command_and_option(name: str) -> None:
    section = re.search(rf"^### `horae {name}\b.*?(?=^##|\Z)", MANUAL, re.MULTILINE | re.DOTALL)
    assert section is not None
    everywhere = MANUAL[: MANUAL.index("## Commands")]
    for parameter in command(name).params:
        if parameter.param_type_name == "option":
            option = next(each for each in parameter.opts if each.startswith("--"))
            assert f"`{option}" in section.group() + everywhere, option


def test_manual_has_every_exit_code() -> None:
    for code in ExitCode:
        assert re.search(rf"^\| `{code.value}` \|", MANUAL, re.MULTILINE), code


def test_schemas_that_the_manual_links_exist() -> None:
    linked = set(re.findall(r"\(schemas/([a-z-]+\.json)\)", MANUAL))
    assert len(linked) > 50
    assert linked <= {path.name for path in (ROOT / "docs" / "schemas").glob("*.json")}


@pytest.mark.parametrize("name", DAILY)
def test_each_command_has_help(cli: Cli, name: str) -> None:
    done = cli(name, "-h")
    assert done.code == 0
    assert COMMANDS[name].does.en in done.out
    for option in ("--json", "--store", "--fields", "--lang", "--plain", "--quiet", "--color"):
        assert option in done.out


def test_version_is_a_command(cli: Cli) -> None:
    assert cli("version").out == cli("--version").out == f"horae {__version__}\n"
    assert cli("version", "-q").out == f"{__version__}\n"
    assert cli("version", "--json").json == {"version": __version__}


def test_command_summaries_are_translated(cli: Cli) -> None:
    for arguments in (("ls", "--lang", "zh", "-h"), ("list", "--lang", "zh", "-h"), ("help", "ls", "--lang", "zh")):
        assert "  列出任务。\n" in cli(*arguments).out, arguments
    assert "  列出任务。\n" in cli("ls", "-h", LANG="zh_CN.UTF-8").out
    assert "列出任务" not in cli("ls", "-h").out + cli("context", "ls", "-h", "--lang", "zh").out
