"""Exit codes of commands, as text and as JSON, in both languages, on a terminal and in a pipe."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from horae.cli.messages.refusals import CATALOGUE
from horae.message import Message
from horae.wire.problems import ExitCode
from tests.cli.command_line import Cli
from tests.cli.terminal import Terminal

ENDINGS = [
    (ExitCode.OK, ["ls"], ""),
    (ExitCode.FAILED, ["add", "every 5m", "--say", "x", "--payload", "@nowhere.json"], "system_error"),
    (ExitCode.USAGE, ["ls", "--nonsense"], "usage"),
    (ExitCode.USAGE, ["nonsense"], "usage"),
    (ExitCode.USAGE, ["rm", "tick"], "needs_yes"),
    (ExitCode.NOT_FOUND, ["show", "nothing"], "no_such_task"),
    (ExitCode.CONFLICT, ["edit", "tick", "--name", "x", "--if-version", "9"], "stale_version"),
    (ExitCode.INVALID, ["add", "every day at 9", "--say", "x"], "ambiguous_hour"),
    (ExitCode.TIMED_OUT, ["run", "tick", "--wait", "--timeout", "0.01s"], "wait_timed_out"),
]


@pytest.mark.parametrize(("ending", "arguments", "code"), ENDINGS, ids=[each[2] or "ok" for each in ENDINGS])
def test_every_failure_has_its_exit_code_and_problem(
    cli: Cli, ending: ExitCode, arguments: list[str], code: str
) -> None:
    cli("add", "every 5m", "--say", "tick", "--overlap", "queue_all")
    answer = cli(*arguments)
    assert answer.code == ending
    assert "Traceback" not in answer.err
    problem = cli(*arguments, "--json")
    assert problem.code == ending
    if code:
        assert (problem.problem["code"], problem.problem["exit"]) == (code, ending)
        assert problem.out == ""
        assert answer.err.lstrip().startswith("✕ ") or "✕ " in answer.err


def test_unreachable_store_exits_with_7(cli: Cli) -> None:
    done = cli("add", "every 5m", "--say", "x", "--json", "--store", "sqlite:////dev/null/horae.db")
    assert (done.code, done.problem["code"]) == (7, "store_unavailable")
    cli.path.write_bytes(b"this is no database" * 1000)
    damaged = cli("ls", "--lang", "zh")
    assert damaged.code == 7
    assert damaged.err.startswith("✕ 存储已损坏")


def test_unknown_store_address_is_refused(cli: Cli) -> None:
    assert cli("ls", "--store", "nonsense://x", "--json").problem["code"] == "unknown_store"
    assert cli("--store", "nonsense://x", "ls", "--json").problem["code"] == "unknown_store"


def test_unreadable_settings_are_one_sentence(cli: Cli) -> None:
    (cli.directory / "horae.toml").write_text("stoer = 1\n", encoding="utf-8")
    done = cli("ls", "--json")
    assert (done.code, done.problem["code"]) == (6, "bad_settings")


def test_interrupt_exits_with_130(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    with Terminal(cli, "run", "tick", "--wait") as terminal:
        terminal.wait_for("waiting for tick")
        terminal.interrupt()
        assert terminal.ended() == 130
    assert "Interrupted." in terminal.shown
    assert "Traceback" not in terminal.shown


def test_closed_pipe_prints_no_error(cli: Cli) -> None:
    for number in range(3):
        cli("add", "every 5m", "--say", f"task {number}")
    process = subprocess.Popen(
        [sys.executable, "-m", "horae", "events", "--after", "0", "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cli.directory,
        env=cli.environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert b"task.created" in process.stdout.readline()
    process.stdout.close()
    cli("pause", "--all")
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert b"Traceback" not in errors


def test_usage_error_names_help_and_the_nearest_word(cli: Cli) -> None:
    assert "Did you mean 'pause'?" in cli("puase", "x").err
    assert "Try: horae ls --help" in cli("ls", "--nonsense").err
    assert "可以查看：horae ls --help" in cli("ls", "--nonsense", "--lang", "zh").err


def test_no_arguments_print_the_help(cli: Cli) -> None:
    done = cli()
    assert done.code == 2
    assert "Daily:" in done.err
    assert "日常：" in cli("--lang", "zh", "--help").out


def test_language_option_may_precede_the_command(cli: Cli) -> None:
    assert "还没有任务" in cli("--lang", "zh", "ls").err
    assert "还没有任务" in cli("--lang", "zh", "show", "x").err
    assert cli("--lang", "xx", "ls").code == 2


@pytest.mark.parametrize("alias", ["list", "ls"])
def test_command_aliases(cli: Cli, alias: str) -> None:
    assert cli(alias, "--json").json == []


def test_store_option_may_precede_the_command(cli: Cli) -> None:
    other = f"sqlite:///{cli.directory / 'other.db'}"
    cli("--store", other, "add", "every 5m", "--say", "tick")
    assert not cli.path.exists()
    assert cli("ls", "--store", other, "--json").json[0]["name"] == "tick"


def test_data_folder_of_the_user_is_private(cli: Cli) -> None:
    done = cli("add", "every 5m", "--say", "tick", HORAE_STORE="")
    assert done.code == 0, done.err
    folder = cli.directory / "horae"
    assert (folder / "horae.db").exists()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_store_in_the_current_folder_wins(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    assert cli("ls", "--json", HORAE_STORE="").json[0]["name"] == "tick"


def test_every_refusal_and_message_has_two_languages() -> None:
    from horae.cli.messages import messages  # noqa: PLC0415 - all names of the module are checked

    for entry in CATALOGUE.values():
        assert all((entry.message, entry.hint, entry.message_zh, entry.hint_zh))
    sentences = [each for each in vars(messages).values() if isinstance(each, Message)]
    for table in vars(messages).values():
        if isinstance(table, dict):
            sentences += [each for each in table.values() if isinstance(each, Message)]
    assert len(sentences) > 80
    for message in sentences:
        assert message.en
        assert message.zh
        assert _places(message.en) == _places(message.zh), message


def _places(text: str) -> set[str]:
    from string import Formatter  # noqa: PLC0415

    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_one_command_of_each_family_in_a_process(cli: Cli) -> None:
    assert cli.interpreter("add", "every 5m", "--say", "tick").code == 0
    assert json.loads(cli.interpreter("ls", "--json").out)[0]["name"] == "tick"
    assert cli.interpreter("show", "tick").code == 0
    assert cli.interpreter("pause", "tick").code == 0
    assert cli.interpreter("edit", "tick", "--name", "tock").code == 0
    assert cli.interpreter("why", "tock").code == 0
    assert cli.interpreter("run", "tock").code == 0
    assert cli.interpreter("runs").code == 0
    assert cli.interpreter("overview").code == 0
    assert cli.interpreter("watch", "--seconds", "0.1").code == 0
    assert cli.interpreter("rm", "tock").code == 2


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://andy:hunter2@127.0.0.1:1/0", "redis://127.0.0.1:1/0"),
        ("nonsense:andy:hunter2@host", "***@host"),
        ("x://h@unter2@host", "***@host"),
    ],
)
def test_password_in_an_address_is_never_shown(cli: Cli, url: str, shown: str) -> None:
    for command in (["ls"], ["add", "every 1h", "--say", "x"], ["doctor"], ["up"], ["why", "x"]):
        for shape in ([], ["--json"]):
            done = (
                cli.process(*command, *shape, HORAE_STORE=url)
                if command == ["up"]
                else cli(*command, *shape, "--store", url)
            )
            assert done.code != 0, command
            assert "unter2" not in done.out + done.err, command
    assert shown in cli("ls", "--store", url).err
