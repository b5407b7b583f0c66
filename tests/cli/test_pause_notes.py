"""Pause notes in `horae ls`: truncated on a terminal, whole in `horae show` and in a pipe."""

from __future__ import annotations

from tests.cli.command_line import Cli
from tests.cli.terminal import Terminal
from tests.cli.test_agent_rights import import_task

NOTE = "waits until the new supplier has confirmed the address of the second warehouse"


def rows_on_terminal(cli: Cli) -> list[str]:
    """Return title and rows of a table with one task, without the footer."""
    with Terminal(cli, "ls", columns=80) as terminal:
        assert terminal.ended() == 0
        lines = terminal.shown.splitlines()
    return lines[: next(number for number, line in enumerate(lines) if "times in" in line)]


def test_long_pause_note_is_cut_in_the_list_and_whole_in_show_and_in_a_pipe(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "stock")
    assert cli("pause", "stock", "--reason", NOTE).code == 0
    rows = rows_on_terminal(cli)
    assert len(rows) <= 4, rows
    assert "…" in "".join(rows)
    for command in ("show", "ls"):
        assert NOTE in " ".join(cli(command, *(("stock",) if command == "show" else ())).out.split())


def test_task_that_awaits_approval_takes_few_rows_of_the_list(cli: Cli) -> None:
    import_task(cli, "report", function="report")
    rows = rows_on_terminal(cli)
    assert len(rows) <= 4, rows
    assert "approval" in "".join(rows)
