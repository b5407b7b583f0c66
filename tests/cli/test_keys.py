"""`horae add --key`: said again, it is the same task, and the receipt says so; and a store that would keep nothing."""

from __future__ import annotations

import pytest

from tests.cli.command_line import Cli


def add(cli: Cli, when: str, *more: str) -> str:
    done = cli("add", when, "--say", "tick", "--key", "k", "--zone", "UTC", *more)
    assert done.code == 0, done.err
    return done.out


def test_a_key_that_is_taken_edits_and_the_receipt_says_so(cli: Cli) -> None:
    assert "horae rm" in add(cli, "0 9 * * *")
    told = add(cli, "30 9 * * *")
    assert "edited (version 2)" in told.splitlines()[0]
    assert any(line.startswith("  Gone   - ") and " 09:00 " in line for line in told.splitlines())
    assert any(line.startswith("  New    + ") and " 09:30 " in line for line in told.splitlines())
    assert "horae rm" not in told
    assert "horae show tick" in told


def test_the_same_again_is_already_as_it_is(cli: Cli) -> None:
    add(cli, "0 9 * * *")
    told = add(cli, "0 9 * * *")
    assert told.startswith("= tick  tsk_")
    assert "already as it is (version 1)" in told.splitlines()[0]
    assert "horae rm" not in told
    assert "Gone" not in told


def test_programs_are_told_what_became_of_it(cli: Cli) -> None:
    asked = ("add", "--say", "tick", "--key", "k", "--zone", "UTC", "--json")
    seen = [cli(*asked, when).json for when in ("0 9 * * *", "0 9 * * *", "30 9 * * *")]
    assert [each["change"] for each in seen] == ["new", "same", "changed"]
    assert [bool(each["removed"] and each["added"]) for each in seen] == [False, False, True]


def test_a_dry_run_knows_that_the_key_is_taken(cli: Cli) -> None:
    add(cli, "0 9 * * *")
    told = add(cli, "30 9 * * *", "--dry-run")
    assert "would be edited; nothing was written" in told.splitlines()[0]
    assert "  New    + " in told
    assert cli("show", "k", "--json").json["task"]["version"] == 1
    assert "nothing was made" in cli("add", "every 1h", "--say", "x", "--key", "other", "--dry-run").out


@pytest.mark.parametrize(
    "command",
    [["add", "every 1h", "--say", "x"], ["apply", "-f", "tasks.json"], ["import", "tasks.jsonl"]],
)
def test_what_would_not_be_kept_is_refused(cli: Cli, command: list[str]) -> None:
    (cli.directory / "tasks.json").write_text('{"tasks": []}', encoding="utf-8")
    add(cli, "every 1h")
    (cli.directory / "tasks.jsonl").write_text(cli("export").out, encoding="utf-8")
    for done in (cli(*command, "--json", "--store", "memory://"), cli(*command, "--json", HORAE_STORE="memory://")):
        assert (done.code, done.problem["code"]) == (6, "nothing_would_be_kept")
    assert cli(*command, "--json", "--store", "memory://", "--dry-run").code == 0
