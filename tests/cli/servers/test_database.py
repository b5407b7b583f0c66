"""`horae db` on a server: checked and brought up to date alike; backups are the server's business."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from tests.cli.command_line import Cli, CommandResult
from tests.cli.servers.conftest import PASSWORD
from tests.faults.processes import ROOT


def checked(name: str, done: CommandResult) -> CommandResult:
    assert (done.code, done.err) == (0, "")
    schema = json.loads((ROOT / f"docs/schemas/db-{name}.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(done.json)
    assert PASSWORD not in done.out
    return done


def test_it_is_brought_up_to_date_and_says_from_which_version(served: Cli) -> None:
    first = checked("upgrade", served("db", "upgrade", "--json")).json
    again = checked("upgrade", served("db", "upgrade", "--json")).json
    assert (first["before"], first["after"] > 0) == (0, True)
    assert again["before"] == again["after"] == first["after"]
    assert "as it should be" in served("db", "upgrade").out


def test_it_is_looked_through(served: Cli) -> None:
    assert checked("check", served("db", "check", "--json")).json["doubts"] == []
    said = served("db", "check")
    assert "nothing is wrong with it" in said.out
    assert PASSWORD not in said.out


def test_its_place_is_told_without_the_password(served: Cli) -> None:
    told = checked("path", served("db", "path", "--json")).json
    assert (told["path"], told["exists"]) == (None, None)
    assert told["store"].startswith("postgresql://***@")
    assert served("db", "path").out.strip() == told["store"]


@pytest.mark.parametrize(("deed", "code"), [("backup", "backup_on_server"), ("restore", "restore_on_server")])
def test_it_is_neither_backed_up_nor_restored_here(served: Cli, deed: str, code: str) -> None:
    refused = served("db", deed, "copy.db", "--json")
    assert (refused.code, refused.problem["code"], refused.problem["exit"]) == (6, code, 6)
    assert "horae move" in refused.problem["hint"]
    chinese = served("db", deed, "copy.db", "--lang", "zh")
    assert (chinese.code, "服务器" in chinese.err) == (6, True)
    assert PASSWORD not in refused.err + chinese.err
    assert not (served.directory / "copy.db").exists()
