"""Import of an export into the store that it came from changes nothing."""

from __future__ import annotations

import json

import pytest

from tests.cli.command_line import Cli
from tests.cli.histories import write_failure_history


def tasks(cli: Cli) -> list[dict[str, object]]:
    found: list[dict[str, object]] = cli("ls", "--all", "--json").json
    return found


def test_import_into_the_exporting_store_changes_nothing(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "a", "--name", "beat")
    cli("add", "every 2 days at 9:00", "--say", "b", "--name", "keyed", "--key", "k")
    cli("add", "every day at 9:00", "--say", "c", "--name", "held")
    cli("pause", "held", "--reason", "holiday")
    before = tasks(cli)
    cli("export", "--runs", "--out", "e.jsonl")
    for _ in range(2):
        done = cli("import", "e.jsonl", "--json").json
        assert (done["new"], done["changed"], done["same"]) == (0, 0, 3)
        assert tasks(cli) == before


def test_task_imported_back_from_another_store_is_unchanged(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "a", "--name", "beat")
    before = tasks(cli)
    other = f"sqlite:///{cli.directory}/other.db"
    cli("export", "--out", "there.jsonl")
    assert cli("import", "there.jsonl", "--store", other, "--json").json["new"] == 1
    cli("export", "--out", "back.jsonl", "--store", other)
    assert cli("import", "back.jsonl", "--json").json["same"] == 1
    assert tasks(cli) == before


def test_task_of_another_owner_is_created_from_the_same_file(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "a", "--name", "beat")
    cli("export", "--out", "e.jsonl")
    assert cli("import", "e.jsonl", "--owner", "ada", "--json").json["new"] == 1


def test_cancelled_task_is_created_again(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "a", "--name", "beat")
    cli("export", "--out", "e.jsonl")
    cli("cancel", "beat")
    assert cli("import", "e.jsonl", "--json").json["new"] == 1
    assert cli("import", "e.jsonl", "--json").json["same"] == 1


@pytest.mark.parametrize(("kind", "taken"), [("once", 0), ("calendar", 1)])
def test_failed_task_is_not_imported_as_paused(cli: Cli, kind: str, taken: int) -> None:
    cli("add", "every day at 9:00" if kind == "calendar" else "in 1h", "--say", "a", "--name", "beat")
    cli("export", "--out", "e.jsonl")
    file = cli.directory / "e.jsonl"
    header, line = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    line["task"] |= {"state": "failed", "ended": "2099-01-01T00:00:00Z"}
    file.write_text(f"{json.dumps(header)}\n{json.dumps(line)}\n", encoding="utf-8")
    other = f"sqlite:///{cli.directory}/other.db"
    done = cli("import", "e.jsonl", "--store", other, "--json").json
    assert (done["new"], done["over"]) == (taken, 1 - taken)
    notes = [task["pause"]["note"] for task in cli("ls", "--json", "--store", other).json]
    assert notes == ["had given up when it was exported"] * taken


def test_failure_history_round_trips(cli: Cli) -> None:
    write_failure_history(cli.path)
    before = tasks(cli)
    cli("export", "--runs", "--out", "e.jsonl")
    done = cli("import", "e.jsonl", "--json").json
    assert (done["new"], done["changed"], done["runs"]["taken"]) == (0, 0, 0)
    assert tasks(cli) == before
