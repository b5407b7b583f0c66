"""`horae doctor` on a database server: server checks, and none about a file."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from horae.cli.doctor.server_checks import check_database_server, check_node_clocks
from horae.model.ids import from_microseconds
from horae.ports.store import Node
from horae.runtime.store_status import ServerStatus
from horae.settings import read_settings
from tests.cli.command_line import Cli
from tests.cli.servers.conftest import PASSWORD

SOUND = ServerStatus(
    kind="PostgreSQL",
    version="15.4",
    address="db.example:5432",
    database="we{i}rd",
    namespace_kind="schema",
    namespace="horae",
    schema=1,
    latest_schema=1,
    size=1_500_000,
    clock_offset=timedelta(milliseconds=3),
    settings={"fsync": "on", "synchronous_commit": "on"},
    dump_command="pg_dump we{i}rd",
)


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


def graded(server: ServerStatus, **environment: str) -> dict[str, str]:
    return {each.code: each.grade for each in check_database_server(server, read_settings(environment))}


def test_names_with_braces_are_printed_verbatim() -> None:
    for each in check_database_server(SOUND, read_settings({})):
        for language in ("en", "zh"):
            output = each.message.in_language("zh" if language == "zh" else "en", **each.facts)
            assert ("we{i}rd" in output) is (each.code in ("store", "backup"))


@pytest.mark.parametrize(
    ("seconds", "grade"), [(0, "ok"), (0.9, "ok"), (-0.9, "ok"), (1.5, "warning"), (-59, "warning"), (61, "error")]
)
def test_clock_difference_is_reported(seconds: float, grade: str) -> None:
    assert graded(SOUND._replace(clock_offset=timedelta(seconds=seconds)))["clock_offset"] == grade


def test_allowed_clock_difference_is_a_setting() -> None:
    off = SOUND._replace(clock_offset=timedelta(seconds=61))
    assert graded(off, HORAE_CLOCK_TOLERANCE="2m")["clock_offset"] == "warning"


def test_server_without_durable_commits_is_reported() -> None:
    forgetful = SOUND._replace(settings={"sync_binlog": "0"}, unsafe_settings=("sync_binlog",))
    (answer,) = (each for each in check_database_server(forgetful, read_settings({})) if each.code == "durability")
    assert answer.grade == "warning"
    assert "sync_binlog" in (answer.fix or answer.message).in_language("en")


def test_hosts_with_a_clock_difference_are_named() -> None:
    now = from_microseconds(1_700_000_000_000_000)
    near, far = (
        Node(f"nod_{host}", host, "1", now, now, host=host, offset=timedelta(seconds=seconds))
        for host, seconds in (("north", 0.2), ("south", -7))
    )
    (answer,) = check_node_clocks((near, far))
    assert (
        answer.message.in_language("en", **answer.facts) == "Clocks are off by up to 7s on south; nodes correct for it"
    )
    assert not list(check_node_clocks((near,)))
