"""Program name in printed commands: as called, unless `horae` on PATH is this program."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from horae.cli.output.command_hints import complete_commands, program_for
from horae.cli.output.line_breaks import wrap_cell
from horae.cli.output.printer import Printer
from horae.cli.output.styled_text import cell_text
from horae.doctor.messages import DUMPED
from tests.cli.command_line import Cli, CommandResult
from tests.cli.terminal import Terminal

INSTALLED = Path(sys.executable).with_name("horae")
ELSEWHERE = os.pathsep.join(
    each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if not (Path(each) / "horae").exists()
)
"""A PATH without `horae`."""
BARE = re.compile(r"(?<![\w/.-])(?<!-m )horae (?=[a-z-])(?!\d)")


def relative(cli: Cli) -> str:
    """Return the installed command as a relative path: `../../….venv/bin/horae`."""
    return os.path.relpath(INSTALLED, cli.directory)


def call(cli: Cli, *words: str, path: str = ELSEWHERE) -> CommandResult:
    """Run a command without the test settings; `words` begin with the program."""
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=cli.directory,
        env=cli.environment(PATH=path),
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_receipt_list_and_refusals_print_the_program_by_its_path(cli: Cli, language: str) -> None:
    program = relative(cli)
    texts = []
    for words in (
        ("add", "every 1h", "--say", "x", "--name", "tea"),
        ("add", "every 1h", "--say", "x", "--name", "held", "--pause"),
        ("ls", "-n", "1"),
        ("why", "held"),
        ("secret", "rm", "absent", "--yes"),
        ("ls", "--nope"),
        ("status",),
        ("nodes",),
        ("help",),
    ):
        done = call(cli, program, *words, "--lang", language)
        text = done.out + done.err
        assert f"{program} " in text, (words, text)
        assert not BARE.search(text), (words, text)
        texts.append(text)
    (undo,) = [line for line in texts[0].splitlines() if " rm " in line]
    assert call(cli, *shlex.split(undo)[1:]).code == 0, undo


def test_module_run_by_python_is_printed_with_its_interpreter(cli: Cli) -> None:
    interpreter = os.path.relpath(sys.executable, cli.directory)
    done = call(cli, interpreter, "-m", "horae", "add", "every 1h", "--say", "x")
    (see,) = [line for line in done.out.splitlines() if line.startswith("  See ")]
    assert see.split(maxsplit=1)[1] == f"{interpreter} -m horae show x"
    assert call(cli, *shlex.split(see)[1:]).code == 0


def test_other_program_of_the_same_name_on_the_path_is_not_printed(cli: Cli) -> None:
    other = cli.directory / "bin" / "horae"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    other.chmod(0o755)
    done = call(cli, str(INSTALLED), "add", "every 1h", "--say", "x", path=f"{other.parent}{os.pathsep}{ELSEWHERE}")
    assert f"See    {INSTALLED} show x" in done.out


def test_program_on_the_path_is_printed_by_its_name(cli: Cli) -> None:
    link = cli.directory / "bin" / "horae"
    link.parent.mkdir()
    link.symlink_to(INSTALLED)
    for folder in (INSTALLED.parent, link.parent):
        done = call(cli, str(INSTALLED), "add", "every 1h", "--say", "x", "--name", "t", path=f"{folder}:{ELSEWHERE}")
        assert re.search(r"See    horae show \S+\n", done.out), done


def test_program_in_a_folder_with_a_space_is_quoted() -> None:
    assert program_for("/a folder/bin/horae", "python3", "/nowhere") == "'/a folder/bin/horae'"


def test_completed_command_is_not_completed_again() -> None:
    for program in (".venv/bin/horae", "python -m horae", "'/a folder/bin/horae'"):
        out = Printer(store="sqlite:////tmp/x.db", program=program)
        once = complete_commands(out, "first: horae up; then 'horae ls --all'")
        assert once.count(program) == 2
        assert complete_commands(out, once) == once
        out = Printer(program=program)
        once = complete_commands(out, "first: horae up; then 'horae ls --all'")
        assert complete_commands(out, once) == once == f"first: {program} up; then '{program} ls --all'"


def test_commands_of_up_stay_whole_at_80_columns(cli: Cli) -> None:
    program = relative(cli)
    store = f"sqlite:///{cli.directory}/{'long-' * 6}name.db"
    with Terminal(cli, "up", "--demo", "--store", store, columns=80, program=(program,), PATH=ELSEWHERE) as terminal:
        terminal.wait_for("Ctrl-C")
        lines = terminal.shown.splitlines()
    for ending in ("rm --label demo=yes --yes", 'add "every 10s" --say tick', "watch"):
        (line,) = [each.strip() for each in lines if each.endswith(ending)]
        assert line == f"{program} --store {store} {ending}"


@pytest.mark.parametrize(
    "program", ["horae", ".venv/bin/horae", "/opt/horae/bin/horae", "'/a folder/horae'", ".venv/bin/python -m horae"]
)
@pytest.mark.parametrize("width", [40, 60, 80])
def test_line_breaker_keeps_a_command_whole_by_whatever_program_it_begins_with(program: str, width: int) -> None:
    command = f'{program} --store sqlite:///.horae/horae.db add "every 10s" --say tick'
    lines = [
        cell_text(line).strip() for line in wrap_cell(f"             remove the demo tasks with: {command}", width, 13)
    ]
    assert command in lines
    command = f"{program} ls --all"
    lines = [
        cell_text(line).strip()
        for line in wrap_cell(f"no unfinished tasks so far; {command} shows what is finished: 1", width)
    ]
    assert any(command in line for line in lines)


def test_path_that_ends_like_the_program_breaks_like_any_text() -> None:
    text = "the folder /srv/data/horae is not writable by this user, so nothing can be stored there at all"
    assert cell_text(wrap_cell(text, 40)[0]) == "the folder /srv/data/horae is not"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize(
    "dump",
    [
        "pg_dump --schema=horae --format=custom --file=horae.dump 'my data'",
        "mariadb-dump --single-transaction --routines --result-file=horae.sql horae",
    ],
)
def test_backup_command_of_doctor_stays_whole(dump: str, width: int, language: str) -> None:
    message = Printer("zh" if language == "zh" else "en").translate(DUMPED, dump=dump)
    lines = [cell_text(line).strip() for line in wrap_cell(f"  ✓ {message}", width, 4)]
    assert any(dump in line for line in lines), lines
