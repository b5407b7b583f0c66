"""Integrity check of SQLite: inconsistent rows and damaged pages are reported."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from horae.testing.contracts.stores.setup import add_tasks, fill_lane, start_run
from horae.testing.factories import NOON, SECOND, a_task
from tests.unit.stores.sqlite.store_setup import new_store, open_store


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A store with a live run, a live run in a lane, and a waiting task."""
    async with new_store(tmp_path) as store:
        await start_run(store)
        await fill_lane(store, "kitchen", a_task())
        await add_tasks(store, a_task(labels=(("source", "test"), ("room", "a"))), due=NOON + SECOND)
        assert await store.check() == ()
    return tmp_path / "horae.db"


async def check_after(path: Path, damage: str) -> tuple[str, ...]:
    connection = apsw.Connection(str(path))
    connection.execute(damage)
    connection.close()
    async with open_store(path) as store:
        return await store.check()


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ("UPDATE agenda SET task = 99", ["entry next belongs", "is active, but nothing"]),
        ("UPDATE runs SET task = 99 WHERE lanes IS NULL", ["run run_", "is active, but nothing"]),
        (
            "DELETE FROM task_state WHERE task = (SELECT max(seq) FROM tasks)",
            ["has no status", "of all owners", "of ada"],
        ),
        ("UPDATE counters SET number = 7 WHERE owner = 'ada'", ["7 tasks of ada are counted as state:active"]),
        ("DELETE FROM lane_slots", ["lane kitchen counts 0 slots taken, but has 1"]),
        ("INSERT INTO lane_slots VALUES ('garden', 'run_1')", ["lane garden counts 1 slots taken, but has 0"]),
        ("DELETE FROM labels WHERE label LIKE '%room%'", ["is not found by the labels"]),
        ("UPDATE labels SET owner = 'bob'", ["is not found by the labels"]),
        ("INSERT INTO labels VALUES ('[]', 99, 'ada')", ["The task number 99 is not found by the labels"]),
        (
            "INSERT INTO chain_rows VALUES (99, 'x', 'fired', NULL, 0, '[]', '[]', 0)",
            ["A chain row belongs to task number 99"],
        ),
        ("DELETE FROM agenda", ["is active, but nothing"]),
        ("UPDATE runs SET live = 0 WHERE lanes IS NULL", ["is active, but nothing"]),
    ],
)
async def test_check_reports_inconsistent_rows(path: Path, damage: str, expected: list[str]) -> None:
    findings = await check_after(path, damage)
    assert len(findings) == len(expected), findings
    for finding, part in zip(findings, expected, strict=True):
        assert part in finding


async def test_check_reports_a_damaged_index(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'agenda_timed'")
    connection.close()
    # The pages of the index still exist, and belong to nothing.
    assert any("damaged" in finding for finding in await check_after(path, "SELECT 1"))
