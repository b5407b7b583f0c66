"""Tables on real terminals of 40, 80 and 120 columns: ids and times stay whole and can be pasted."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from horae import Horae
from horae.cli.output.styled_text import display_width as width_of
from tests.cli.command_line import Cli
from tests.cli.histories import hour_before, make_app, write_failure_history
from tests.cli.terminal import Terminal

WIDTHS = (40, 80, 120)
LANGUAGES = ("en", "zh")
SHORT_RUN = re.compile(r"run_[0-9a-f]{16,24}(?![0-9a-f])")


def shown(cli: Cli, *arguments: str, columns: int) -> list[str]:
    with Terminal(cli, *arguments, columns=columns) as terminal:
        assert terminal.ended() == 0
        return terminal.shown.splitlines()


def table(cli: Cli, *arguments: str, columns: int) -> list[str]:
    """Return the lines before the footer."""
    lines = shown(cli, *arguments, columns=columns)
    footers = (number for number, line in enumerate(lines) if "times in" in line or "时区" in line)
    return lines[: next(footers, len(lines))]


def without_blanks(text: str) -> str:
    return "".join(text.split())


def row_of(lines: list[str], name: str) -> list[str]:
    """Return the lines of the row with this name: continuation lines begin with a blank."""
    first = next(number for number, line in enumerate(lines) if line.split()[:1] == [name])
    below = takewhile(lambda line: line.startswith(" "), lines[first + 1 :])
    return [lines[first], *below]


def cell_of(row: list[str], header: str, title: str) -> str:
    """Return the text of one cell without blanks; a column ends where the next title begins."""
    titles = [(width_of(header[: found.start()]), found.group()) for found in re.finditer(r"\S+", header)]
    starts = [start for start, _ in titles]
    column = [found for _, found in titles].index(title)
    end = starts[column + 1] if column + 1 < len(starts) else 1_000
    return without_blanks("".join(between(line, starts[column], end) for line in row))


def between(line: str, start: int, end: int) -> str:
    """Return the characters of a line in these columns of the terminal."""
    return "".join(sign for number, sign in enumerate(line) if start <= width_of(line[:number]) < end)


@pytest.fixture(scope="module")
def with_runs(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    cli = Cli(tmp_path_factory.mktemp("narrow"))
    write_failure_history(cli.path)
    return cli


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("columns", WIDTHS)
def test_a_list_of_runs_keeps_ids_and_times_whole_within_the_terminal(
    with_runs: Cli, columns: int, language: str
) -> None:
    runs = with_runs("runs", "--json").json
    lines = table(with_runs, "runs", "--lang", language, columns=columns)
    assert [line for line in lines if width_of(line) > columns] == []
    text = "\n".join(lines)
    ids = SHORT_RUN.findall(text)
    assert len(ids) == len(runs)
    for short, run in zip(ids, runs, strict=True):
        assert run["id"].startswith(short)
        assert re.search(rf"{run['planned'][11:19]}\b", text)
    assert "+00:00" not in text
    assert re.findall(r"\d{4}-\d\d-\d\d", text) == [], "the year of today is not repeated"
    assert text.count("report") >= sum(run["task"] == "report" for run in runs)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("columns", WIDTHS)
def test_a_list_of_tasks_keeps_names_schedules_and_times_whole(with_runs: Cli, columns: int, language: str) -> None:
    lines = table(with_runs, "ls", "--lang", language, columns=columns)
    assert [line for line in lines if width_of(line) > columns] == []
    when, following = ("WHEN", "NEXT") if language == "en" else ("时间", "下次")
    for task in with_runs("ls", "--json", "--lang", language).json:
        row = row_of(lines, task["name"])
        schedule = without_blanks(re.split(r"[,，] ?UTC", task["means"])[0])
        time_of_day = task["next_local"][11:16] if task["next_local"] else "–"
        if when in lines[0]:
            assert cell_of(row, lines[0], when) == schedule
            assert cell_of(row, lines[0], following).endswith(time_of_day)
        else:
            before, found, after = without_blanks("".join(row)).partition(schedule)
            assert found == schedule, row
            assert "…" not in before + after
            assert time_of_day in after


def test_a_short_run_id_is_accepted_by_every_command(with_runs: Cli) -> None:
    failed = with_runs("runs", "--failed", "--json", "-n", "1").json[0]
    text = "\n".join(table(with_runs, "runs", "--failed", "-n", "1", columns=80))
    (short,) = SHORT_RUN.findall(text)
    assert with_runs("show", short, "--json").json["id"] == failed["id"]
    assert with_runs("why", short).code == 0
    assert with_runs("logs", short).code == 0
    assert with_runs("retry", short, "--json").code == 0
    assert with_runs("stop", short).code == 5, "found, and over"


def test_long_names_wrap_instead_of_hiding_the_next_time(cli: Cli) -> None:
    name = "the nightly copy of everything that the whole department has written during the day"
    cli("add", "every day at 03:07", "--say", "x", "--name", name)
    for columns in (60, 80):
        lines = table(cli, "ls", columns=columns)
        assert re.search(r"\b03:07\b", "\n".join(lines))
        assert [line for line in lines if width_of(line) > columns] == []
        words = " ".join(lines).split()
        assert [word for word in name.split() if word not in words] == []


def test_tasks_of_one_name_have_different_ids_that_can_be_pasted(cli: Cli) -> None:
    for _ in range(3):
        cli("add", "every 1h", "--say", "x", "--name", "same")
    text = "\n".join(table(cli, "ls", columns=80))
    ids = re.findall(r"tsk_[0-9a-f]+", text)
    assert len(set(ids)) == 3
    for short in ids:
        assert len(short) < 30
        assert cli("show", short, "--quiet").out.startswith(short)
        assert cli("pause", short).code == 0


def test_dates_are_shown_only_where_they_change(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    from horae.testing import TimeTravel  # noqa: PLC0415

    app: Horae = make_app(cli.path)
    with TimeTravel(app, hour_before(60), store="own") as time:
        time.run(app.schedule("report", "0,30 * * * *", name="report"))
        time.travel("58h")
    lines = [line for line in table(cli, "runs", "-n", "90", columns=80) if "run_" in line]
    dates = [found.group() if (found := re.search(r"\d\d-\d\d (?=\d\d:)", line)) else "" for line in lines]
    assert len(lines) == 90
    assert dates[0]
    assert 2 <= sum(1 for date in dates if date) <= 3


@pytest.fixture
def two_nodes(cli: Cli) -> Iterator[list[str]]:
    """Start two engines on one store at once; yields their ids."""
    started = [
        subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("node.py")), cli.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=cli.environment(),
        )
        for _ in range(2)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    yield cli("nodes", "--quiet").out.split()
    for process in started:
        process.communicate(timeout=60)


def test_nodes_show_different_ids_that_drain_accepts_within_the_terminal(cli: Cli, two_nodes: list[str]) -> None:
    tables = {columns: table(cli, "nodes", columns=columns) for columns in WIDTHS}
    assert [
        (columns, line)
        for columns, lines in tables.items()
        for line in lines
        if width_of(line) > columns or "…" in line
    ] == []
    for lines in tables.values():
        ids = re.findall(r"nod_[0-9a-f]+", "\n".join(lines))
        assert len(set(ids)) == 2
        for short in ids:
            assert len([whole for whole in two_nodes if whole.startswith(short) and whole != short]) == 1
            assert cli("nodes", "drain", short).code == 0
            assert cli("nodes", "drain", short, "--undo").code == 0


def test_tokens_and_webhooks_show_ids_that_other_commands_accept(cli: Cli) -> None:
    cli("owner", "set", "ada", "--role", "member")
    for name in ("one", "two"):
        cli("token", "make", name, "--owner", "ada")
        cli("webhook", "add", f"https://example.com/{name}")
    tokens = re.findall(r"tok_[0-9a-f]+", "\n".join(shown(cli, "token", "ls", columns=80)))
    hooks = re.findall(r"whk_[0-9a-f]+", "\n".join(shown(cli, "webhook", "ls", columns=80)))
    assert [len(tokens), len(hooks)] == [2, 2]
    assert all(len(short) < 30 for short in (*tokens, *hooks))
    assert cli("token", "revoke", tokens[0], "--yes").code == 0
    assert cli("webhook", "show", hooks[0], "--json").json["id"].startswith(hooks[0])
    gone = cli("webhook", "rm", hooks[1], "--yes", "--json")
    assert gone.json["removed"].startswith(hooks[1])
    assert cli("webhook", "ls", "--quiet").out.strip().startswith(hooks[0])


def test_off_a_terminal_ids_and_times_are_whole(with_runs: Cli) -> None:
    listed = with_runs("runs")
    assert all(run["id"] in listed.out for run in with_runs("runs", "--json").json)
    assert "+00:00" in listed.out


@pytest.mark.parametrize("columns", [60, 80])
def test_a_receipt_breaks_between_words_and_keeps_commands_whole(tmp_path: Path, columns: int) -> None:
    lines = shown(Cli(tmp_path), "add", "every day at 9am", "--say", "tick", columns=columns)
    undo = next(line for line in lines if line.startswith("  Undo"))
    assert re.fullmatch(r"  Undo   horae rm tsk_[0-9a-f]{18,24} --yes", undo)
    warned = lines[next(number for number, line in enumerate(lines) if line.startswith("  !")) :]
    assert [line for line in warned if width_of(line) > columns] == []
    assert all(line.startswith(("  !      ", "         ", "no engine")) for line in warned if line)


def test_only_zone_dependent_schedules_warn_about_the_zone(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    for when, warns in (("every 10s", False), ("in 20m", False), ("every day at 9am", True), ("0 9 * * *", True)):
        warnings = cli("add", when, "--say", "tick", "--json").json["warnings"]
        assert ("no_zone" in [each["code"] for each in warnings]) is warns, when


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_fires_that_an_edit_adds_and_removes_stay_on_one_line_each(cli: Cli, language: str) -> None:
    cli("add", "every 100s", "--say", "x", "--name", "report")
    with Terminal(cli, "edit", "report", "--when", "every 90s", "--lang", language, columns=80) as terminal:
        terminal.ended()
    lines = terminal.shown.replace("\r", "").splitlines()
    fires = [line for line in lines if re.search(r"\d{4}-\d\d-\d\d \d\d:", line)]
    assert len(fires) >= 6
    assert all(width_of(line) <= 80 and re.search(r" [-+] \S+ \d{4}-", line) for line in fires)
