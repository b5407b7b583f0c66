"""Checks of a store on a database server, and of the clocks of nodes."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest

from horae.choices import Language
from horae.doctor.database_checks import check_database_server, check_encryption, check_node_clocks
from horae.model.ids import from_microseconds
from horae.ports.store import Node
from horae.stores.sql.reads.status import ServerStatus

LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
MINUTE: Final = timedelta(minutes=1)
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


def graded(server: ServerStatus, tolerance: timedelta = MINUTE) -> dict[str, str]:
    return {each.code: each.grade for each in check_database_server(server, tolerance)}


def test_names_with_braces_are_printed_verbatim() -> None:
    for each in check_database_server(SOUND, MINUTE):
        for language in LANGUAGES:
            assert ("we{i}rd" in each.sentence(language)) is (each.code in ("store", "backup"))


@pytest.mark.parametrize(
    ("seconds", "grade"), [(0, "ok"), (0.9, "ok"), (-0.9, "ok"), (1.5, "warning"), (-59, "warning"), (61, "error")]
)
def test_clock_difference_is_reported(seconds: float, grade: str) -> None:
    assert graded(SOUND._replace(clock_offset=timedelta(seconds=seconds)))["clock_offset"] == grade


def test_allowed_clock_difference_is_a_setting() -> None:
    off = SOUND._replace(clock_offset=timedelta(seconds=61))
    assert graded(off, 2 * MINUTE)["clock_offset"] == "warning"


def test_server_without_durable_commits_is_reported() -> None:
    forgetful = SOUND._replace(settings={"sync_binlog": "0"}, unsafe_settings=("sync_binlog",))
    (answer,) = (each for each in check_database_server(forgetful, MINUTE) if each.code == "durability")
    assert answer.grade == "warning"
    assert answer.fix is not None
    assert "sync_binlog" in answer.fix.text.in_language("en")


def test_hosts_with_a_clock_difference_are_named() -> None:
    now = from_microseconds(1_700_000_000_000_000)
    near, far = (
        Node(f"nod_{host}", host, "1", now, now, host=host, offset=timedelta(seconds=seconds))
        for host, seconds in (("north", 0.2), ("south", -7))
    )
    (answer,) = check_node_clocks((near, far), MINUTE)
    assert (answer.grade, answer.sentence("en")) == (
        "warning",
        "Clocks are off by up to 7s on south; nodes correct for it",
    )
    assert not list(check_node_clocks((near,), MINUTE))
    (beyond,) = check_node_clocks((near, far), timedelta(seconds=5))
    assert (beyond.grade, "more than 5s" in beyond.sentence("en")) == ("error", True)
    assert "超过 5 秒" in beyond.sentence("zh")


def test_unencrypted_connection_names_the_option() -> None:
    answer = check_encryption("db.example", "sslmode=verify-full")
    assert answer.fix is not None
    assert (answer.grade, answer.fix.text.in_language("en")) == (
        "warning",
        "put sslmode=verify-full into the address of the store",
    )
