"""Every command block of the README and of the schedules page runs and prints what it says; the two READMEs agree."""

from __future__ import annotations

import doctest
import fcntl
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[2]
ENGLISH, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"
SCHEDULES = ROOT / "docs" / "schedules.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(path.read_text(encoding="utf-8"))


def commands(path: Path) -> list[tuple[str, str]]:
    """Each command with the output that the README shows after it."""
    found = blocks(path)
    following = [*found[1:], ("", "")]
    return [
        (text.strip(), shown if kind == "text" else "")
        for (name, text), (kind, shown) in zip(found, following, strict=True)
        if name == "sh"
    ]


HORAE = [
    (command, shown)
    for page in (ENGLISH, SCHEDULES)
    for command, shown in commands(page)
    if command.startswith(".venv/bin/horae")
]
SCRIPTS = [(command, shown) for command, shown in commands(ENGLISH) if command.startswith(".venv/bin/python")]


def test_both_languages_have_the_same_headings_blocks_and_links() -> None:
    english, chinese = (path.read_text(encoding="utf-8") for path in (ENGLISH, CHINESE))
    assert [len(level) for level in re.findall(r"^(#+) ", english, re.MULTILINE)] == [
        len(level) for level in re.findall(r"^(#+) ", chinese, re.MULTILINE)
    ]
    assert blocks(ENGLISH) == blocks(CHINESE)
    # Each of them leads to the other one, and both to the same pages.
    # A picture has a file for each language, and so have many pages.
    chinese = chinese.replace("-zh.png", ".png").replace(".zh-CN.md", ".md")
    links = [re.findall(r"\]\((?!README)([^)]+)\)", text) for text in (english, chinese)]
    assert links[0] == links[1]
    assert english.count("\n|") == chinese.count("\n|")


def test_make_up_and_make_test_come_first() -> None:
    assert [command for command, _ in commands(ENGLISH)][:2] == ["make up", "make test"]


def test_the_chinese_readme_leads_to_pages_in_chinese() -> None:
    links = re.findall(r"\]\(docs/([^)#]+)\.md\)", CHINESE.read_text(encoding="utf-8"))
    assert [name for name in links if (ROOT / "docs" / f"{name}.zh-CN.md").exists()] == []


def test_links_exist() -> None:
    for path in (ENGLISH, CHINESE):
        targets = re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
        assert len(targets) > 20
        for target in targets:
            assert (ROOT / target).exists(), target


@pytest.mark.parametrize(("command", "shown"), HORAE, ids=[command for command, _ in HORAE])
def test_command_prints_the_documented_output(command: str, shown: str) -> None:
    arguments = shlex.split(command)[1:]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HORAE_", "LC_"))}
    done = subprocess.run(
        [sys.executable, "-m", "horae", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
        env={**environment, "LANG": "C.UTF-8", "PYTHONUTF8": "1"},
    )
    assert done.returncode in (0, 6)
    if shown:
        assert done.stdout + done.stderr == shown
    else:
        assert done.returncode == 0
        assert done.stdout


@pytest.mark.parametrize(("command", "shown"), SCRIPTS, ids=[command for command, _ in SCRIPTS])
def test_example_prints_the_documented_output(command: str, shown: str) -> None:
    arguments = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines()] == shown.splitlines()


_OUTAGE: Final = re.compile(r"(\d+) instants were due: (?:(\d+) made up for, )?(\d+) merged into a later run\.")
"""An instant that comes due between the start of the node and its first claim stands for all of the outage: then none of
the outage itself is made up for."""


def _shape(text: str) -> set[str]:
    """The lines without their numbers: what may differ from one run to the next. One instant is a range of one."""
    masked = re.sub(r" … [\d:]+", "", re.sub(r"\d+ made up for, ", "", text))
    masked = re.sub(r"\b(run|tsk)_\w+", "ID", masked)
    masked = re.sub(r"[\d:.]+(ms|s)\b", "TIME", re.sub(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b", "DAY", masked))
    return {" ".join(re.sub(r"[\d:]+", "N", line).split()) for line in masked.splitlines()}


def _on_a_terminal(command: list[str], environment: dict[str, str], columns: int = 80) -> tuple[int, str]:
    """Exit code and output, without colours, of a command on a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    known = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(command, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, env=known) as process:
        os.close(theirs)
        printed = b""
        with suppress(OSError):  # the other end is closed
            while more := os.read(ours, 65_536):
                printed += more
    os.close(ours)
    return process.returncode, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", printed.decode())


@pytest.mark.serial("how many instants are made up for depends on how soon the killed node is started again")
def test_kill_and_restart_prints_the_documented_output() -> None:
    """From a fresh checkout: after `make up`, the commands are in `.venv/bin` and nowhere on the path."""
    ((_, shown),) = [each for each in commands(ENGLISH) if each[0] == "examples/kill_and_restart.sh"]
    folder = Path(sys.executable).parent
    elsewhere = [each for each in os.environ["PATH"].split(os.pathsep) if not (Path(each) / "horae").exists()]
    path = os.pathsep.join(elsewhere if (ROOT / ".venv/bin/horae").exists() else [str(folder), *elsewhere])
    environment = {**os.environ, "PATH": path, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    code, printed = _on_a_terminal(["examples/kill_and_restart.sh"], environment)
    assert code == 0, printed
    assert "run_01a1e328bc7810b1" in shown  # ids as a terminal shows them
    assert _shape(printed) == _shape(shown)
    (counts,) = _OUTAGE.findall(printed)
    due, made_up, merged = (int(each or 0) for each in counts)
    assert due == made_up + merged
    assert made_up <= 1 < merged


def test_make_up_shows_runs_until_it_is_stopped() -> None:
    process = subprocess.Popen(
        ["make", "up"], cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True
    )
    assert process.stdout is not None
    try:
        assert any("demo-tick" in line and line.rstrip().endswith(" ms") for line in process.stdout)
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=30)


def test_make_test_runs_every_check() -> None:
    """Running it here would run this test again without end; what it would do is read instead."""
    plan = subprocess.run(["make", "--dry-run", "test"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for part in ("ruff check", "ruff format --check", "mypy", "lint-imports", "pytest"):
        assert part in plan


@pytest.mark.parametrize("path", [ENGLISH, CHINESE, SCHEDULES], ids=["en", "zh", "schedules"])
def test_doctests_pass(path: Path) -> None:
    examples = "\n".join(text for kind, text in blocks(path) if kind == "python")
    test = doctest.DocTestParser().get_doctest(examples, {}, path.name, str(path), 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
