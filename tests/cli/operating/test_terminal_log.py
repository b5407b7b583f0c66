"""Log lines of a node: short on a terminal, with date, zone and level elsewhere."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from horae.cli.output.printer import Printer
from horae.cli.output.styled_text import display_width
from horae.cli.output.terminal_log import TerminalFormatter
from tests.cli.command_line import Cli
from tests.cli.terminal import Terminal

SHORT = re.compile(r"\d\d:\d\d:\d\d\.\d{3}  ! this node claims nothing more: an operator drains it")
LONG = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \+00:00 WARNING this node claims nothing more")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_drained_worker_logs_the_short_form_on_a_terminal(cli: Cli) -> None:
    file = cli.directory / "horae.log"
    with Terminal(cli, "worker", columns=60, HORAE_LOG_FILE=str(file)) as terminal:
        terminal.wait_for("Ends")
        (node,) = cli("nodes", "--quiet").out.split()
        assert cli("nodes", "drain", node).code == 0
        assert terminal.ended() == 0
        lines = terminal.shown.splitlines()
    (first,) = [number for number, line in enumerate(lines) if "claims nothing" in line]
    assert SHORT.fullmatch(f"{lines[first]} {lines[first + 1].strip()}"), lines
    assert lines[first + 1].startswith(" " * 16)
    assert display_width(lines[first]) <= 60
    assert LONG.search(file.read_text(encoding="utf-8")), "a file has the whole form"


def test_multiline_message_on_a_terminal_is_indented_and_escaped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    record = logging.makeLogRecord({"msg": "it broke\n\x1b[2Jsecond line", "levelno": logging.ERROR, "created": 0.5})
    first, second = TerminalFormatter(Printer(colour="never"), "Asia/Shanghai").format(record).split("\n")
    assert first == "08:00:00.500  ✕ it broke"
    assert second == " " * 16 + "\\x1b[2Jsecond line"
