"""Column alignment on a terminal of 80 columns."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from horae.cli.output.formats import next_times
from horae.cli.output.line_breaks import wrap_cell
from horae.cli.output.styled_text import cell_text, display_width
from horae.cli.output.table import Fit, is_table, render_table
from tests.cli.command_line import Cli
from tests.cli.histories import write_failure_history
from tests.cli.terminal import Terminal

ROOT = Path(__file__).parents[2]
NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)


def shown(cli: Cli, *arguments: str, width: int = 80) -> list[str]:
    with Terminal(cli, *arguments, columns=width) as terminal:
        terminal.ended()
        return terminal.shown.splitlines()


def column_of(line: str, text: str) -> int:
    return display_width(line[: line.index(text)])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_list_with_two_tasks_of_one_name_keeps_its_table(cli: Cli, language: str) -> None:
    ids = [cli("add", "every 10s", "--say", "x", "--name", "tick", "--quiet").out.strip() for _ in range(2)]
    assert cli("add", "every weekday at 9am", "--say", "x", "--name", "weekday-report").code == 0
    assert cli("cancel", "weekday-report").code == 0
    assert cli("add", "in 4d", "--say", "x", "--name", "backup").code == 0
    for everything in ((), ("--all",)):
        header, *rows = shown(cli, "ls", *everything, "--lang", language)
        assert header.split()[0] == ("NAME" if language == "en" else "名称"), header
        start = column_of(header, "WHEN" if language == "en" else "时间")
        cell = "every 10" if language == "en" else "每 10"
        assert [column_of(row, cell) for row in rows if row.startswith("tick ")] == [start, start], rows
        prefixes = re.findall(r"tsk_[0-9a-f]{16,}", "\n".join(rows))
        assert all(any(each.startswith(prefix) for prefix in prefixes) for each in ids), rows


def test_ids_stand_below_ambiguous_names_where_there_is_no_room_for_their_column(cli: Cli) -> None:
    for name in ("quarterly-report", "quarterly-report", "tea"):
        assert cli("add", "2040-12-24 18:00:05", "--say", "x", "--name", name).code == 0
    header, *rows = shown(cli, "ls")
    assert header.split() == ["NAME", "WHEN", "NEXT", "STATE"]
    below = [row for row in rows if row.startswith("tsk_")]
    assert len(below) == 2
    assert all(cli("show", row.split()[0]).code == 0 for row in below)


def test_only_rows_that_fit_side_by_side_are_a_table() -> None:
    rows = [["a" * 30, "b" * 30]]
    for room in (61, 62):
        lines = list(render_table(["A", "B"], rows, room=room, colour=False, fits=(Fit(), Fit())))
        assert is_table(["A", "B"], rows, room, (Fit(), Fit())) is (room == 62) is lines[0].startswith("A ")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("command", ["status", "overview"])
def test_names_of_the_next_tasks_begin_in_one_column(cli: Cli, command: str, language: str) -> None:
    for when, name in (("in 30m", "soon"), ("in 3d", "later"), ("in 40d", "far")):
        assert cli("add", when, "--say", "x", "--name", name).code == 0
    lines = shown(cli, command, "--lang", language)
    (first,) = [number for number, line in enumerate(lines) if line.endswith(" soon")]
    places = {column_of(line, name) for line, name in zip(lines[first:], ("soon", "later", "far"), strict=False)}
    assert len(places) == 1, lines


def test_times_ahead_have_the_width_of_their_column() -> None:
    due = [NOON + timedelta(seconds=5), NOON + timedelta(days=2, hours=3, minutes=5), NOON + timedelta(days=40)]
    for language in ("en", "zh"):
        times = next_times(due, "UTC", NOON, "zh" if language == "zh" else "en")
        assert len({tuple(map(display_width, each)) for each in times}) == 1, times


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_of_a_node_is_aligned_and_names_its_zone(cli: Cli, language: str) -> None:
    with Terminal(cli, "worker", columns=80) as terminal:
        terminal.wait_for("Ends")
        (node,) = cli("nodes", "--quiet").out.split()
        lines = shown(cli, "nodes", "show", node, "--lang", language)
    start = column_of(lines[0], "nod_")
    *rows, zone = lines
    assert zone == ("times in UTC" if language == "en" else "时区 UTC")
    for row in rows:
        label, value = re.fullmatch(r"  (\S+) +(\S.*)", row).groups()  # type: ignore[union-attr]
        assert column_of(row[2 + len(label) :], value) + 2 + display_width(label) == start, rows


def test_choices_of_resume_are_aligned(cli: Cli) -> None:
    write_failure_history(cli.path)
    with Terminal(cli, "resume", "weekly-digest", columns=80) as terminal:
        terminal.wait_for("Which?")
        lines = [line for line in terminal.shown.splitlines() if re.match(r"(❯|\s) \d  ", line)]
    starts = {display_width(re.match(r"(?:❯|\s) \d  \S+ +", line).group()) for line in lines}  # type: ignore[union-attr]
    assert len(lines) > 2
    assert len(starts) == 1, lines


@pytest.mark.parametrize("width", range(40, 80))
def test_name_and_value_of_a_policy_stay_on_one_line(width: int) -> None:
    text = "  Late   run the latest once within 24h · overlap skip · retries 3 · timeout 5m"
    lines = [cell_text(line) for line in wrap_cell(text, width, 9)]
    for pair in ("overlap skip", "retries 3", "timeout 5m"):
        assert any(pair in line for line in lines), lines


@pytest.mark.parametrize("width", [60, 80])
def test_make_help_breaks_between_words(width: int) -> None:
    command = ["make", "--no-print-directory", "help"]
    environment = {"PATH": "/usr/bin:/bin", "TERM": "xterm", "COLUMNS": str(width)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= width
    texts = re.findall(r"^[a-z-]+:.*## (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    answer = " ".join(re.sub(r"^  make \S+", "", line).strip() for line in lines)
    assert answer == " ".join(texts)
