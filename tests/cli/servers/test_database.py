"""`horae db` on a database server: check and upgrade work, backup and restore are refused."""

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


def test_db_upgrade_names_both_versions(remote_store: Cli) -> None:
    first = checked("upgrade", remote_store("db", "upgrade", "--json")).json
    again = checked("upgrade", remote_store("db", "upgrade", "--json")).json
    assert (first["before"], first["after"] > 0) == (0, True)
    assert again["before"] == again["after"] == first["after"]
    assert "as it should be" in remote_store("db", "upgrade").out


def test_db_check_reports_no_problem(remote_store: Cli) -> None:
    assert checked("check", remote_store("db", "check", "--json")).json["doubts"] == []
    output = remote_store("db", "check")
    assert "nothing is wrong with it" in output.out
    assert PASSWORD not in output.out


def test_db_path_has_no_password(remote_store: Cli) -> None:
    answer = checked("path", remote_store("db", "path", "--json")).json
    assert (answer["path"], answer["exists"]) == (None, None)
    assert answer["store"].startswith("postgresql://***@")
    assert remote_store("db", "path").out.strip() == answer["store"]


@pytest.mark.parametrize(("deed", "code"), [("backup", "backup_on_server"), ("restore", "restore_on_server")])
def test_db_backup_and_restore_are_refused_for_a_server(remote_store: Cli, deed: str, code: str) -> None:
    refused = remote_store("db", deed, "copy.db", "--json")
    assert (refused.code, refused.problem["code"], refused.problem["exit"]) == (6, code, 6)
    assert "horae move" in refused.problem["hint"]
    chinese = remote_store("db", deed, "copy.db", "--lang", "zh")
    assert (chinese.code, "服务器" in chinese.err) == (6, True)
    assert PASSWORD not in refused.err + chinese.err
    assert not (remote_store.directory / "copy.db").exists()
