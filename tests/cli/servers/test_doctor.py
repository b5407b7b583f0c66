"""`horae doctor` on a server: what it says of a server makes sense there, and nothing of it is about a file."""

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


def checks(told: Any) -> dict[str, dict[str, Any]]:
    return {each["check"]: each for each in told["checks"]}


def test_a_sound_server(served: Cli) -> None:
    assert served("add", "every 1h", "--say", "x").code == 0
    done = served("doctor", "--json")
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


def test_to_look_makes_no_tables(served: Cli) -> None:
    for _ in range(2):
        assert checks(served("doctor", "--json").json)["store"]["message"].startswith("No tables yet: PostgreSQL")


def test_a_server_that_cannot_be_used_is_one_error_with_its_own_hint(served: Cli) -> None:
    done = served("doctor", "--lang", "zh", HORAE_STORE=served.url.rpartition("/")[0] + "/absent")
    assert done.code == 1
    assert "没有这个数据库" in done.out
    assert "createdb" in done.out
    assert PASSWORD not in done.out + done.err


def test_a_key_that_is_not_named_or_not_here_is_told(served: Cli) -> None:
    key = str(served.directory / "key")
    assert served("secret", "set", "token", "-", stdin="s3cret", HORAE_KEY_FILE=key).code == 0
    grades = {}
    for named in ("", key, f"{key}-elsewhere"):
        told = checks(json.loads(served("doctor", "--json", HORAE_KEY_FILE=named).out))["secrets"]
        grades[named] = (told["grade"], told["fix"])
    assert [grade for grade, _ in grades.values()] == ["error", "ok", "error"]
    assert "HORAE_KEY_FILE" in grades[""][1]


def graded(server: ServerStatus, **environment: str) -> dict[str, str]:
    return {each.code: each.grade for each in check_database_server(server, read_settings(environment))}


def test_names_are_told_as_they_are() -> None:
    for each in check_database_server(SOUND, read_settings({})):
        for language in ("en", "zh"):
            said = each.message.in_language("zh" if language == "zh" else "en", **each.facts)
            assert ("we{i}rd" in said) is (each.code in ("store", "backup"))


@pytest.mark.parametrize(
    ("seconds", "grade"), [(0, "ok"), (0.9, "ok"), (-0.9, "ok"), (1.5, "warning"), (-59, "warning"), (61, "error")]
)
def test_a_clock_that_is_off_is_told_by_how_far(seconds: float, grade: str) -> None:
    assert graded(SOUND._replace(clock_offset=timedelta(seconds=seconds)))["clock_offset"] == grade


def test_how_far_a_clock_may_be_off_is_a_setting() -> None:
    off = SOUND._replace(clock_offset=timedelta(seconds=61))
    assert graded(off, HORAE_CLOCK_TOLERANCE="2m")["clock_offset"] == "warning"


def test_a_server_that_forgets_when_the_power_fails_is_told() -> None:
    forgetful = SOUND._replace(settings={"sync_binlog": "0"}, unsafe_settings=("sync_binlog",))
    (told,) = (each for each in check_database_server(forgetful, read_settings({})) if each.code == "durability")
    assert told.grade == "warning"
    assert "sync_binlog" in (told.fix or told.message).in_language("en")


def test_machines_whose_clocks_are_far_off_are_named() -> None:
    now = from_microseconds(1_700_000_000_000_000)
    near, far = (
        Node(f"nod_{host}", host, "1", now, now, host=host, offset=timedelta(seconds=seconds))
        for host, seconds in (("north", 0.2), ("south", -7))
    )
    (told,) = check_node_clocks((near, far))
    assert told.message.in_language("en", **told.facts) == "Clocks are off by up to 7s on south; nodes correct for it"
    assert not list(check_node_clocks((near,)))
