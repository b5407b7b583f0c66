"""`horae add --key`: idempotent upsert with its receipt, and refusal of memory stores."""

from __future__ import annotations

import pytest

from tests.cli.command_line import Cli


def add(cli: Cli, when: str, *more: str) -> str:
    done = cli("add", when, "--say", "tick", "--key", "k", "--zone", "UTC", *more)
    assert done.code == 0, done.err
    return done.out


def test_add_with_an_existing_key_edits_the_task(cli: Cli) -> None:
    assert "horae rm" in add(cli, "0 9 * * *")
    answer = add(cli, "30 9 * * *")
    assert "edited (version 2)" in answer.splitlines()[0]
    assert any(line.startswith("  Gone   - ") and " 09:00 " in line for line in answer.splitlines())
    assert any(line.startswith("  New    + ") and " 09:30 " in line for line in answer.splitlines())
    assert "horae rm" not in answer
    assert "horae show tick" in answer


def test_add_with_the_same_definition_changes_nothing(cli: Cli) -> None:
    add(cli, "0 9 * * *")
    answer = add(cli, "0 9 * * *")
    assert answer.startswith("= tick  tsk_")
    assert "already as it is (version 1)" in answer.splitlines()[0]
    assert "horae rm" not in answer
    assert "Gone" not in answer


def test_json_receipt_has_the_kind_of_change(cli: Cli) -> None:
    command = ("add", "--say", "tick", "--key", "k", "--zone", "UTC", "--json")
    seen = [cli(*command, when).json for when in ("0 9 * * *", "0 9 * * *", "30 9 * * *")]
    assert [each["change"] for each in seen] == ["new", "same", "changed"]
    assert [bool(each["removed"] and each["added"]) for each in seen] == [False, False, True]


def test_dry_run_recognises_an_existing_key(cli: Cli) -> None:
    add(cli, "0 9 * * *")
    answer = add(cli, "30 9 * * *", "--dry-run")
    assert "would be edited; nothing was written" in answer.splitlines()[0]
    assert "  New    + " in answer
    assert cli("show", "k", "--json").json["task"]["version"] == 1
    assert "nothing was made" in cli("add", "every 1h", "--say", "x", "--key", "other", "--dry-run").out


@pytest.mark.parametrize(
    "command",
    [["add", "every 1h", "--say", "x"], ["apply", "-f", "tasks.json"], ["import", "tasks.jsonl"]],
)
def test_writes_to_a_memory_store_are_refused(cli: Cli, command: list[str]) -> None:
    (cli.directory / "tasks.json").write_text('{"tasks": []}', encoding="utf-8")
    add(cli, "every 1h")
    (cli.directory / "tasks.jsonl").write_text(cli("export").out, encoding="utf-8")
    for done in (cli(*command, "--json", "--store", "memory://"), cli(*command, "--json", HORAE_STORE="memory://")):
        assert (done.code, done.problem["code"]) == (6, "nothing_would_be_kept")
    assert cli(*command, "--json", "--store", "memory://", "--dry-run").code == 0
