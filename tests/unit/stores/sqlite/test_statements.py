"""Named statements of SQLite: each has one name, is used, and finds its rows by an index."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import apsw
import pytest

from horae.stores.named_sql import parse_blocks
from horae.stores.sqlite.connection import STATEMENTS, BulkStatement, sql
from horae.stores.sqlite.session import STATEMENT_STEPS
from tests.unit.stores.called_statements import find_called_statements

ROOM = Path(str(resources.files("horae.stores.sqlite")))
COLUMNS = {name for name in STATEMENTS if name.endswith(("_columns", "_filter"))}
FULL_SCANS = {
    "integrity",
    "orphan_entries",
    "orphan_runs",
    "orphan_chain_rows",
    "chained_tasks",
    "doubtful_chain_rows",
    "tasks_without_status",
    "wrong_lane_slots",
    "wrong_lane_starts",
    "lanes_without_wakeup",
    "tasks_without_work",
    "mislabelled_tasks",
    "wrong_state_counters",
    "count_parts",
    "orphan_messages",
    "wrong_stream_numbers",
    "wrong_cursors",
}
"""Statements of an operator before a move or for a check; they may be slow."""
SEARCHES = {"tasks_page_of_text"}
"""Statements that read a whole index, because a text may be anywhere in a name."""
SMALL = (
    "nodes",
    "tokens",
    "sqlite_sequence",
    "ready_owners",
    "ended_runs",
    "given",
    "blocked_owners",
    "oldest_events",
    "events",
    "(subquery",
    "CONSTANT ROW",
    "lanes",
    "lane_slots",
    "lane_turns",
    "waiting_owners",
    "queues",
    "lane_names",
    "streams",
)
"""Scans over few rows, or up to a LIMIT."""
PARTIAL = (
    "agenda_timed",
    "agenda_ready_due",
    "agenda_prioritised",
    "runs_live",
    "agenda_parked",
    "agenda_queued",
    "_paused_or_failed",
    "task_state_failing",
    "_unsuccessful",
    "runs_with_span",
)
"""Indexes of which only the first row is read, or which hold only current rows."""


def test_every_statement_has_one_name() -> None:
    names = [name for file in ROOM.glob("sql/*.sql") for name, _ in parse_blocks(file.read_text(encoding="utf-8"))]
    assert sorted(names) == sorted(STATEMENTS)
    assert len(names) == len(set(names))


def test_every_statement_is_used() -> None:
    folders = (ROOM, Path(str(resources.files("horae.stores.sql"))))
    code = "\n".join(file.read_text(encoding="utf-8") for folder in folders for file in folder.rglob("*.py"))
    shared = "\n".join(STATEMENTS.values())
    unused = {
        name
        for name in STATEMENTS
        if f'"{name}"' not in code and f"{{{name}}}" not in shared and f"{{{name} " not in shared
    }
    assert unused == set()


OF_SERVERS = {
    "append_message",
    "delete_old_counters",
    "drop_unused_lanes",
    "insert_lanes",
    "peek_timed_slice",
    "lock_entries",
}
"""Statements for counter deltas, lane rows, row locks and fewer round trips, which a file does not have: it deletes old counters
as it adds to them, and a transaction excludes all others."""


def test_every_statement_that_shared_code_runs_is_there() -> None:
    folder = Path(str(resources.files("horae.stores.sql")))
    code = "\n".join(file.read_text(encoding="utf-8") for file in folder.rglob("*.py"))
    called = find_called_statements(code)
    assert {"lock_node", "get_record", "events", "import_lines", "metadata_page"} <= called
    assert called - set(STATEMENTS) - set(STATEMENT_STEPS) == OF_SERVERS - set(STATEMENTS)
    assert {step for steps in STATEMENT_STEPS.values() for step in steps} <= set(STATEMENTS)


def test_unknown_statement_is_an_error() -> None:
    with pytest.raises(KeyError):
        sql("no_such_statement")


@pytest.mark.parametrize("count", [0, 1, 2, 5, 127, 128, 129, 1_000])
def test_large_statement_takes_every_row_once(count: int) -> None:
    width = 6
    parts = list(BulkStatement("insert_events", width).split(count * width))
    assert [start for _, start, _ in parts] == [0, *(end for _, _, end in parts)][: len(parts)]
    assert sum(end - start for _, start, end in parts) == count * width
    assert all(text.count("?") == end - start for text, start, end in parts)


@pytest.mark.parametrize(
    ("count", "statements"), [(1, 1), (7, 1), (31, 1), (32, 1), (33, 2), (63, 2), (96, 2), (128, 1), (159, 2)]
)
def test_few_rows_are_one_statement(count: int, statements: int) -> None:
    bulk = BulkStatement("insert_events", 6)
    assert len(list(bulk.split(count * 6))) == statements


WIDTHS = {"drop_entries": 2, "drop_records": 3, "delete_lane_slots": 2, "unpark": 2, "put_live_runs": 27}
"""Columns per row of the statements that look up many rows."""


def _plan(connection: apsw.Connection, name: str) -> list[str]:
    text = sql(name).replace("{rows}", f"({', '.join('?' * WIDTHS.get(name, 8))})")
    names = set(re.findall(r":(\w+)", text))
    numbers = [int(number) for number in re.findall(r"\?(\d+)", text)]
    bindings = dict.fromkeys(names, 1) if names else (1,) * max(numbers, default=text.count("?"))
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", bindings)]


@pytest.fixture(scope="module")
def empty() -> apsw.Connection:
    connection = apsw.Connection("")
    connection.execute((ROOM / "schema.sql").read_text(encoding="utf-8"))
    return connection


READS = sorted(
    set(STATEMENTS) - COLUMNS - FULL_SCANS - SEARCHES - {name for name in STATEMENTS if "INSERT" in sql(name)}
)


@pytest.mark.parametrize("name", [name for name in READS if "REPLACE" not in sql(name)])
def test_no_hot_statement_scans_a_growing_table(empty: apsw.Connection, name: str) -> None:
    for step in _plan(empty, name):
        if step.startswith("SCAN"):
            assert "VIRTUAL TABLE" in step or any(small in step for small in SMALL + PARTIAL), step


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("runs_page", "runs_by_plan (planned>? AND (planned,attempt)<(?,?))"),
        ("runs_page_of_task", "runs_of_task (task=? AND planned>? AND (planned,attempt)<(?,?))"),
        ("runs_page_in_state", "runs_unsuccessful (state=? AND planned>? AND (planned,attempt)<(?,?))"),
        ("runs_page_of_spans", "runs_with_span (planned>?"),
        ("tasks_page_of_cause", "task_state_pause_cause (pause_cause=? AND task>?)"),
        ("tasks_page_of_text", "SCAN tasks USING COVERING INDEX tasks_by_name"),
    ],
)
def test_page_reads_a_part_of_its_index(empty: apsw.Connection, name: str, index: str) -> None:
    assert any(index in step for step in _plan(empty, name)), _plan(empty, name)


def test_further_names_have_the_same_statement() -> None:
    text = "-- name: page\n-- also: page_of_owner, page_of_name\n-- In creation order.\nSELECT 1\n\n-- name: other\nSELECT 2\n"
    assert list(parse_blocks(text)) == [
        ("page", "SELECT 1"),
        ("page_of_owner", "SELECT 1"),
        ("page_of_name", "SELECT 1"),
        ("other", "SELECT 2"),
    ]
