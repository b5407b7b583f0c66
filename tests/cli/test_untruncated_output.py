"""Results and errors of runs are printed whole; only tables on a terminal are truncated."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae import Context, Horae
from horae.testing import TimeTravel
from tests.cli.command_line import Cli
from tests.cli.histories import hour_before
from tests.cli.terminal import Terminal

LONG = "the disk of the machine that keeps the backups of the whole company has no room left for another one"
PROMPT = "Summarise what happened yesterday, " * 10 + "and say what comes next"


def a_long_failure(path: Path, lines: int = 0) -> None:
    app = Horae(f"sqlite:///{path}", zone="UTC")

    @app.task(name="backup")
    def backup(ctx: Context) -> None:
        for number in range(lines):
            ctx.log.info("line %d", number)
        raise ValueError(f"{LONG}\nsecond line of it")

    @app.task(name="fine")
    def fine() -> dict[str, list[int]]:
        return {"numbers": [1, 2]}

    start = hour_before(1)
    with TimeTravel(app, start, store="own") as time:
        time.run(app.schedule("backup", f"5 {start.hour} * * *", name="backup", retries=0))
        time.run(app.schedule("fine", f"5 {start.hour} * * *", name="fine"))
        time.travel("30m")


def run_id(cli: Cli, task: str) -> str:
    return str(cli("runs", task, "--json").json[0]["id"])


@pytest.mark.parametrize("command", [["ls"], ["runs"], ["runs", "--plain"], ["show", "backup"], ["why", "backup"]])
def test_error_is_not_truncated_without_a_terminal(cli: Cli, command: list[str]) -> None:
    a_long_failure(cli.path)
    done = cli(*command)
    assert LONG in done.out
    assert "…" not in done.out


def test_long_prompt_is_not_truncated(cli: Cli) -> None:
    assert PROMPT in cli("add", "every 5m", "--name", "ask", "--say", PROMPT).out
    assert PROMPT in cli("show", "ask").out


def test_terminal_truncates_tables_but_not_why(cli: Cli) -> None:
    a_long_failure(cli.path)
    with Terminal(cli, "why", "backup", COLUMNS="60") as terminal:
        assert terminal.ended() == 0
    assert LONG in " ".join(terminal.shown.split()), "broken between words, and not cut"
    assert "second line of it" in terminal.shown
    with Terminal(cli, "runs", COLUMNS="90") as terminal:
        assert terminal.ended() == 0
    assert LONG not in terminal.shown
    assert "…" in terminal.shown


def test_run_is_shown_in_full(cli: Cli) -> None:
    a_long_failure(cli.path, lines=30)
    name = run_id(cli, "backup")
    done = cli("show", name)
    assert done.code == 0
    first, *rest = done.out.splitlines()
    assert (first.startswith("✕ backup"), name in first) == (True, True)
    for expected in (LONG, "second line of it", "attempt 1", "the last 20 of 30 lines", f"horae logs {name}"):
        assert expected in done.out, expected
    assert rest[-1].endswith("line 29")
    assert "line 9\n" not in done.out


def test_result_of_a_run_is_shown(cli: Cli) -> None:
    a_long_failure(cli.path)
    done = cli("show", run_id(cli, "fine"))
    assert '"numbers": [' in done.out
    assert "Error" not in done.out


def test_show_of_a_run_as_json(cli: Cli) -> None:
    a_long_failure(cli.path)
    (row,) = cli("runs", "backup", "--json").json
    # A list does not read the messages that its runs have handled.
    assert row["handled"] is None
    assert cli("show", row["id"], "--json").json == row | {"handled": []}
    assert cli("show", row["id"], "--quiet").out == f"{row['id']}\n"
    missing = cli("show", "run_nowhere", "--json")
    assert (missing.code, missing.problem["code"]) == (3, "no_such_run")


def test_awaited_failed_run_prints_its_whole_error(cli: Cli, node: object) -> None:
    del node
    cli("add", "every 1h", "--function", "broken", "--name", "broken", "--retries", "0")
    done = cli("run", "broken", "--wait")
    assert done.code == 9
    assert "ValueError: disk full\n" in done.out
    assert 'raise ValueError("disk full")' in done.out
