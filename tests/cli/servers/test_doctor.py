"""`horae doctor` on a database server: server checks, and none about a file."""

from __future__ import annotations

import json
from typing import Any

from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.settings import read_settings
from horae.wire.doctor import report_json
from tests.cli.command_line import Cli
from tests.cli.servers.conftest import PASSWORD


def checks(answer: Any) -> dict[str, dict[str, Any]]:
    return {each["check"]: each for each in answer["checks"]}


def test_healthy_server_has_no_findings(remote_store: Cli) -> None:
    assert remote_store("add", "every 1h", "--say", "x").code == 0
    done = remote_store("doctor", "--json")
    found = checks(done.json)
    assert done.json["errors"] == 0
    assert {"store", "durability", "clock_offset", "backup", "integrity", "libraries"} <= found.keys()
    assert "PostgreSQL" in found["store"]["message"]
    assert "schema version" in found["store"]["message"]
    assert "synchronous_commit on" in found["durability"]["message"]
    assert "pg_dump --schema=horae" in found["backup"]["message"]
    assert " --host=" in found["backup"]["message"]
    assert found["backup"]["grade"] == "ok"
    assert "asyncpg" in found["python"]["message"]
    assert "SQLite" not in found["python"]["message"]
    assert not {"disk", "journal"} & found.keys()
    assert all(name in found["libraries"]["message"] for name in ("asyncpg", "asyncmy", "uvloop"))
    assert PASSWORD not in done.out + done.err


async def test_running_server_makes_the_checks_of_the_command_line(remote_store: Cli) -> None:
    assert remote_store("add", "every 1h", "--say", "x").code == 0
    clock, settings = SystemClock(), read_settings({"HORAE_ZONE": "UTC"})
    store = make_store(remote_store.url, clock)
    await store.open()
    try:
        report = await make_service(remote_store.url, store, clock, "UTC", TargetKinds(settings)).doctor.report(LOCAL)
    finally:
        await store.close()
    at_store = checks(remote_store("doctor", "--json").json)
    assert {each.code: each.grade for each in report.checks} == {name: each["grade"] for name, each in at_store.items()}
    assert PASSWORD not in json.dumps(report_json(report, "en"))


def test_doctor_creates_no_tables(remote_store: Cli) -> None:
    for _ in range(2):
        assert checks(remote_store("doctor", "--json").json)["store"]["message"].startswith("No tables yet: PostgreSQL")


def test_unusable_server_is_one_error_with_a_hint(remote_store: Cli) -> None:
    done = remote_store("doctor", "--lang", "zh", HORAE_STORE=remote_store.url.rpartition("/")[0] + "/absent")
    assert done.code == 1
    assert "没有这个数据库" in done.out
    assert "createdb" in done.out
    assert PASSWORD not in done.out + done.err


def test_missing_key_file_is_reported(remote_store: Cli) -> None:
    key = str(remote_store.directory / "key")
    assert remote_store("secret", "set", "token", "-", stdin="s3cret", HORAE_KEY_FILE=key).code == 0
    grades = {}
    for named in ("", key, f"{key}-elsewhere"):
        answer = checks(json.loads(remote_store("doctor", "--json", HORAE_KEY_FILE=named).out))["secrets"]
        grades[named] = (answer["grade"], answer["fix"])
    assert [grade for grade, _ in grades.values()] == ["error", "ok", "error"]
    assert "HORAE_KEY_FILE" in grades[""][1]
