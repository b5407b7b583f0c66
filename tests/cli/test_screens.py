"""Every command with output, at 40, 80 and 120 columns in two languages: nothing is too wide or broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from horae import Context, Horae
from horae.cli.command_table import COMMANDS
from horae.cli.main import app as command_line
from horae.cli.messages.help_topics import TOPICS
from horae.testing import TimeTravel
from tests.cli.command_line import Cli
from tests.cli.histories import hour_before
from tests.cli.screens import WIDE_ENOUGH, layout_faults, screen, words_of
from tests.cli.terminal import Terminal

WIDTHS = (40, 80, 120)
LANGUAGES = ("en", "zh")
LONG_NAME = "the nightly copy of everything that the whole department has written during the day"
ONE_WORD = "customer-relationship-export-of-the-north"
CHINESE_NAME = "每天早上把前一天的全部销售数据汇总并发给管理层"
ERROR = "the disk of the machine that keeps the backups of the whole company has no room left for another one"
LOOPBACK = {"HORAE_OUTGOING_NETWORKS": "127.0.0.0/8"}
SHORT_RUN = re.compile(r"run_[0-9a-f]{16,24}(?![0-9a-f])")

READS: dict[str, list[str]] = {
    "ls": ["ls", "--all"],
    "ls next": ["ls", "--sort", "next"],
    "runs": ["runs"],
    "runs failed": ["runs", "--failed"],
    "runs page": ["runs", "-n", "2"],
    "show": ["show", ONE_WORD],
    "show long name": ["show", LONG_NAME],
    "show chinese": ["show", CHINESE_NAME],
    "show run": ["show", "RUN"],
    "why": ["why", ONE_WORD],
    "why run": ["why", "RUN"],
    "why paused": ["why", CHINESE_NAME],
    "logs": ["logs", "RUN"],
    "nodes": ["nodes"],
    "status": ["status"],
    "overview": ["overview"],
    "doctor": ["doctor"],
    "events": ["events"],
    "events page": ["events", "--after", "0", "-n", "5"],
    "lanes": ["lanes"],
    "secret ls": ["secret", "ls"],
    "owner ls": ["owner", "ls"],
    "owner show": ["owner", "show", "ada"],
    "token ls": ["token", "ls"],
    "webhook ls": ["webhook", "ls"],
    "webhook show": ["webhook", "show", "WEBHOOK"],
    "webhook deliveries": ["webhook", "deliveries", "WEBHOOK"],
    "agent ls": ["agent", "ls"],
    "agent show": ["agent", "show", "researcher"],
    "audit ls": ["audit", "ls"],
    "audit verify": ["audit", "verify"],
    "context ls": ["context", "ls"],
    "config": ["config"],
    "db path": ["db", "path"],
    "db check": ["db", "check"],
    "next": ["next", "every weekday at 9am Asia/Shanghai"],
    "next task": ["next", "--task", ONE_WORD],
    "next at a clock change": ["next", "every day at 02:30 Europe/Berlin"],
    "explain": ["explain", "0 9 31 * *"],
    "explain interval": ["explain", "every 90s"],
    "simulate": ["simulate", "--for", "24h"],
    "version": ["version"],
    "help": ["help"],
    **{f"help {topic}": ["help", topic] for topic in TOPICS},
}


def write_history(path: Path) -> None:
    """Write long names, long errors, log lines, an outage and a paused task, up to the current hour."""
    app = Horae(f"sqlite:///{path}", zone="UTC")

    @app.task(name="backup")
    def backup(ctx: Context) -> None:
        ctx.log.info("copying %s to the other machine, which may take a while when the network is slow", "everything")
        raise ValueError(f"{ERROR}\nsecond line of it")

    @app.task(name="report")
    def report() -> dict[str, list[int]]:
        return {"numbers": [1, 2]}

    start = hour_before(30)
    hours = ",".join(str((start.hour + each) % 24) for each in range(0, 24, 6))
    with TimeTravel(app, start, store="own") as time:
        time.run(app.schedule("backup", f"10 {hours} * * *", name=ONE_WORD, retries=0))
        time.run(app.schedule("report", f"20 {hours} * * *", name=LONG_NAME, lane="exports", labels={"team": "ops"}))
        paused = time.run(app.schedule("report", "30 * * * *", name=CHINESE_NAME))
        time.travel("8h")
        time.run(paused.pause("until the new numbers of the accounting department have been checked twice"))
        time.crash()
        time.travel("3h")
        time.restart()
        time.travel("17h")


@pytest.fixture(scope="module")
def filled_folder(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    cli = Cli(tmp_path_factory.mktemp("screens"))
    write_history(cli.path)
    for arguments in (
        ["owner", "set", "ada", "--role", "member", "--note", "the person who looks after all of the exports"],
        ["token", "make", "the laptop of the person on call", "--owner", "ada"],
        ["token", "make", "researcher", "--agent", "researcher", "--owner", "ada"],
        ["agent", "set", "researcher", "--owner", "local", "--quota", "stored_tasks=5"],
        ["lane", "exports", "2"],
        [
            "webhook",
            "add",
            "https://hooks.example.com/services/horae/alerts/of/the/team",
            "--type",
            "run.failed,task.*",
        ],
        ["webhook", "add", "http://127.0.0.1:9/refused", "--note", "a machine that never answers"],
        ["add", "in 40 days 30 minutes", "--say", "remember the milk", "--name", "milk"],
    ):
        done = cli(*arguments, **LOOPBACK)
        assert done.code == 0, done.err
    assert cli("secret", "set", "the-api-key-of-the-weather-service", "-", stdin="x").code == 0
    for _ in range(2):
        assert cli("webhook", "test", cli("webhook", "ls", "--quiet").out.split()[1], **LOOPBACK).code == 1
    return cli


def filled(cli: Cli, arguments: list[str]) -> list[str]:
    ids = {
        "RUN": lambda: cli("runs", ONE_WORD, "--quiet").out.split()[0],
        "WEBHOOK": lambda: cli("webhook", "ls", "--quiet").out.split()[1],
    }
    return [ids[each]() if each in ids else each for each in arguments]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", READS)
def test_screen_fits_and_breaks_between_words(filled_folder: Cli, name: str, language: str) -> None:
    arguments = filled(filled_folder, READS[name])
    whole = words_of(screen(filled_folder, *arguments, columns=WIDE_ENOUGH, language=language))
    for columns in WIDTHS:
        shown = screen(filled_folder, *arguments, columns=columns, language=language)
        assert shown.strip()
        assert layout_faults(shown, columns, whole) == [], f"{columns} columns:\n{shown}"


def every_command() -> Iterator[list[str]]:
    group: Any = command_line
    yield []
    for name in COMMANDS:
        yield [name]
        found = group.get_command(None, name)
        yield from ([name, each] for each in getattr(found, "commands", {}))


@pytest.mark.parametrize("language", LANGUAGES)
def test_help_of_every_command_fits_the_terminal(tmp_path: Path, language: str) -> None:
    cli = Cli(tmp_path)
    for command in every_command():
        arguments = [*command, "--help"]
        whole = words_of(screen(cli, *arguments, columns=WIDE_ENOUGH, language=language))
        for columns in (40, 80):
            shown = screen(cli, *arguments, columns=columns, language=language)
            assert layout_faults(shown, columns, whole) == [], f"{command} at {columns} columns:\n{shown}"
            assert not re.search(r"\w,?\.\.\.$", shown, re.MULTILINE), f"{command}: a description is cut"


def failed_run(shown: str) -> str:
    """Return the id that is shown for the last failure."""
    return str(SHORT_RUN.findall(shown)[-1])


@pytest.mark.parametrize(("columns", "language"), [(40, "en"), (40, "zh"), (80, "en"), (120, "zh")])
def test_watch_fits_the_terminal_and_shows_ids_of_failures_that_why_accepts(
    filled_folder: Cli, columns: int, language: str
) -> None:
    with Terminal(filled_folder, "watch", "--lang", language, columns=columns) as terminal:
        terminal.wait_for("最近的失败" if language == "zh" else "Last failures")
        terminal.wait_for("run_")
        terminal.press("q")
        assert terminal.ended() == 0
    shown = terminal.shown
    assert layout_faults(shown, columns) == []
    words = shown.split()
    assert [
        word for word in (*LONG_NAME.split(), *([ONE_WORD] if columns > len(ONE_WORD) else [])) if word not in words
    ] == []
    assert filled_folder("why", failed_run(shown), "--quiet").out == "ran\n"


@pytest.mark.parametrize(("columns", "language"), [(40, "en"), (80, "zh")])
def test_start_lines_of_up_fit_the_terminal_and_can_be_copied(tmp_path: Path, columns: int, language: str) -> None:
    cli = Cli(tmp_path)
    arguments = ["up", "--demo", "--seconds", "30", "--port", "0", "--lang", language]
    with Terminal(cli, *arguments, columns=columns, HORAE_API="on") as terminal:
        terminal.wait_for("/v1/tasks\n")
        terminal.interrupt()
        assert terminal.ended() == 0
    shown = terminal.shown
    assert layout_faults(shown, columns) == []
    lines = [line.strip() for line in shown.splitlines()]
    for command in ('horae add "every 10s" --say tick', "horae watch", "horae rm --label demo=yes --yes"):
        assert any(line.endswith(command) for line in lines), command
    request = shown[shown.index("sed ") : shown.index("/v1/tasks\n")].splitlines()
    assert all(line.endswith(" \\") for line in request[:-1]), "the shell reads the lines as one command"


@pytest.mark.parametrize("columns", [40, 80])
def test_deliveries_keep_ids_and_times_whole_on_a_real_terminal(filled_folder: Cli, columns: int) -> None:
    hook = filled(filled_folder, ["WEBHOOK"])[0]
    with Terminal(filled_folder, "webhook", "deliveries", hook, columns=columns) as terminal:
        assert terminal.ended() == 0
    assert layout_faults(terminal.shown, columns) == []
    listed = filled_folder("webhook", "deliveries", hook, "--json").json
    shown = re.findall(r"dlv_[0-9a-f]+(?!\w|…)", terminal.shown)
    assert [one["id"].startswith(short) for one, short in zip(listed, shown, strict=True)] == [True, True]
    assert len(re.findall(r"\b\d\d:\d\d:\d\d\b", terminal.shown)) == len(listed)


@pytest.mark.parametrize("language", LANGUAGES)
def test_refusal_fits_the_terminal(filled_folder: Cli, language: str) -> None:
    for when in (
        "every weekday at 25:61 in the afternoon of the last day",
        "每个工作日的下午二十五点六十一分发送全部的销售数据报表",
    ):
        shown = screen(filled_folder, "next", when, columns=40, language=language, code=6)
        assert layout_faults(shown, 40) == [], shown
        assert "^" in shown
