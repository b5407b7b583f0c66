"""Query plans on PostgreSQL: the cost of a hot statement does not grow with the tables, for any statistics."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from horae.clock import SystemClock
from horae.stores import named_sql
from horae.stores.postgres.address import Address
from horae.stores.postgres.connection_factory import PostgresConnectionFactory, qualify_tables
from tests.servers.postgres import PostgresServer
from tests.unit.stores.postgres.store_setup import Connection, new_schema, open_connection, open_store
from tests.unit.stores.postgres.test_statements import KNOWN, STATEMENTS

FULL_SCANS = {
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
    "wrong_state_counters",
    "mislabelled_tasks",
    "runs_live_and_ended",
    "unlisted_tasks",
    "count_parts",
    "counters_page",
    "sum_counter_deltas",
    "all_lanes",
    "all_nodes",
}
"""Statements of an operator before a move or for a check, or aggregates; they may be slow."""
COUNTS_THE_LOG = {"owner_event_counts"}
"""Runs once per owner whose events a process has not read yet; later counts are cached."""
LISTS = {
    name
    for name in STATEMENTS
    if re.match(
        r"(tasks|runs)_page|upcoming|tasks_parked|latest|waiting|counts|tasks_of_owner|(recent_)?tasks_over_run_limit",
        name,
    )
}
"""Pages of lists: each is planned for its arguments."""
GROWING = {
    "tasks",
    "labels",
    "task_state",
    "agenda",
    "runs",
    "events",
    "packed_events",
    "event_batches",
    "lines",
    "records",
    "metadata",
}
"""All other tables hold only current data: nodes, lanes, live runs and their slots, pending counts."""
HEAD_OF_INDEX = {
    "agenda_timed",
    "agenda_ready",
    "agenda_ready_due",
    "agenda_prioritised",
    "tasks_by_owner",
    "event_batches_numbered",
}
"""Indexes of which only the first rows are read, up to a LIMIT."""
SMALL = {"event_batches_unnumbered", "task_state_ended", "agenda_parked"}
"""Indexes of waiting entries only."""
HOT = [name for name in STATEMENTS if name not in FULL_SCANS | LISTS | COUNTS_THE_LOG]
ROWS = 20_000


async def plans(server: PostgresServer, *, rows: int, analysed: bool) -> dict[str, Any]:
    """Explain every hot statement on a connection like those of the store."""
    url = new_schema(server)
    async with open_store(url) as store:
        async with open_connection(store) as connection:
            if rows:
                await connection.execute(FILL.format(rows=rows))
            if analysed:
                await connection.execute("ANALYZE")
        session = await PostgresConnectionFactory(Address.parse(url), SystemClock()).open_raw(store.address.servers)
        found = {name: await plan(session, name, store.address.schema) for name in HOT}
        session.terminate()
    return found


async def plan(session: Connection, name: str, schema: str) -> Any:
    text = qualify_tables(named_sql.expand_columns(name, KNOWN), schema)
    count = max(map(int, re.findall(r"\$(\d+)", text)), default=0)
    await session.execute(f"PREPARE s_{name} AS {text}")
    given = f"({', '.join(['NULL'] * count)})" if count else ""
    return json.loads(await session.fetchval(f"EXPLAIN (FORMAT json) EXECUTE s_{name}{given}"))[0]["Plan"]


def steps(node: Any) -> Iterator[Any]:
    yield node
    for each in node.get("Plans", ()):
        yield from steps(each)


def costly(node: Any) -> list[str]:
    """Return every access to a growing table that does not seek in an index."""
    found: list[str] = []
    for step in steps(node):
        table, kind, index = step.get("Relation Name"), step["Node Type"], step.get("Index Name", "")
        if kind == "Seq Scan" and table in GROWING:
            found.append(f"all of {table}")
        by_index = kind in ("Index Scan", "Index Only Scan", "Bitmap Index Scan") and index not in HEAD_OF_INDEX | SMALL
        if by_index and "Index Cond" not in step and (table or index.split("_")[0]) in GROWING:
            found.append(f"all of {index}")
        if kind in ("Hash Join", "Merge Join"):
            found.append(kind)
    return found


@pytest.mark.parametrize(("rows", "analysed"), [(0, False), (ROWS, False), (ROWS, True)])
async def test_no_hot_statement_scans_a_growing_table(
    postgres_server: PostgresServer,
    rows: int,
    analysed: bool,  # noqa: FBT001
) -> None:
    found = await plans(postgres_server, rows=rows, analysed=analysed)
    assert {name: costly(found[name]) for name in HOT if costly(found[name])} == {}


async def test_full_scan_is_detected(postgres_server: PostgresServer) -> None:
    url = new_schema(postgres_server)
    async with open_store(url) as store, open_connection(store) as connection:
        for name in ("tasks_without_work", "runs_live_and_ended"):
            assert costly(await plan(connection, name, store.address.schema)) != []


PAGES = {
    "tasks_page_of_label": (
        '0, 101, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \'[["room","a"]]\', \'["room","a"]\'',
        "labels_pkey",
    ),
    "tasks_page_paused_or_failed": (
        "0, 101, '{paused}', NULL, NULL, NULL, NULL, NULL, NULL, '[]', 'paused'",
        "task_state_listed",
    ),
    "tasks_page_completed_or_cancelled": (
        "0, 101, '{completed}', NULL, NULL, NULL, NULL, NULL, NULL, '[]', 'completed'",
        "runs_completing",
    ),
    "tasks_page_failing": ("0, 101, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '[]'", "task_state_listed"),
    "tasks_page_of_cause": (
        "0, 101, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '[]', 'awaiting_approval'",
        "task_state_pause_cause",
    ),
    "runs_page_in_state": (
        f"{2**62}, 1, 'x', 101, NULL, '{{cancelled}}', NULL, NULL, 'cancelled'",
        "runs_unsuccessful",
    ),
    "latest_outcomes": ("'{tsk_1,tsk_2}', 30, 0", "runs_of_task"),
    "runs_page_of_task": (f"{2**62}, 1, 'x', 101, NULL, NULL, NULL, NULL, 'tsk_1'", "runs_of_task"),
}
"""Filters of a page, and the index that serves them."""
AS_LISTS_ARE_READ = "SET plan_cache_mode = force_custom_plan; SET enable_seqscan = on; SET enable_hashjoin = on; SET enable_mergejoin = on; SET enable_bitmapscan = off"
RARE = """
UPDATE tasks SET labels = '[["team","b"]]' WHERE seq % 2 = 0;
UPDATE tasks SET labels = '[["room","a"],["team","b"]]' WHERE seq % 2000 = 0;
UPDATE task_state SET state = 'completed' WHERE task % 2000 = 0;
UPDATE runs SET completes = 1 WHERE planned % 1999 = 0;
UPDATE task_state SET state = 'completed', completed_by_run = 1 WHERE task IN (SELECT task FROM runs WHERE completes = 1);
UPDATE task_state SET failures = 2 WHERE task % 2001 = 0;
UPDATE task_state SET state = 'paused', paused_since = 0, pause_note = '',
  pause_cause = CASE WHEN task % 2002 = 0 THEN 'awaiting_approval' ELSE 'requested' END WHERE task % 7 = 0;
UPDATE runs SET state = CASE WHEN planned % 2000 = 0 THEN 'cancelled' ELSE 'skipped' END WHERE planned % 2 = 0;
"""


@pytest.mark.parametrize("analysed", [False, True])
async def test_page_of_rare_rows_uses_its_index(postgres_server: PostgresServer, analysed: bool) -> None:  # noqa: FBT001
    url = new_schema(postgres_server)
    async with open_store(url) as store, open_connection(store) as connection:
        await connection.execute(FILL.format(rows=ROWS) + RARE)
        if analysed:
            await connection.execute("ANALYZE")
        link = await PostgresConnectionFactory(Address.parse(url), SystemClock()).open_raw(store.address.servers)
        for name, (values, index) in PAGES.items():
            await link.execute(
                f"PREPARE p_{name} AS {qualify_tables(named_sql.expand_columns(name, KNOWN), store.address.schema)}"
            )
            await link.execute(AS_LISTS_ARE_READ)
            explained = json.loads(await link.fetchval(f"EXPLAIN (FORMAT json) EXECUTE p_{name}({values})"))[0]["Plan"]
            assert index in {step.get("Index Name") for step in steps(explained)}, (name, explained)
            assert not [each for each in costly(explained) if each.startswith("all of")], (name, costly(explained))
        link.terminate()


FILL = """
INSERT INTO tasks SELECT n, 'tsk_' || n, 'owner ' || n % 50, 'name', '{{}}', 'function', '{{}}', '{{}}', '{{}}', n, NULL, NULL, '[]', 1
FROM generate_series(1, {rows}) AS n;
INSERT INTO task_state SELECT n, 1, 'active', 0, 0, 0 FROM generate_series(1, {rows}) AS n;
INSERT INTO agenda SELECT n, 'next', 'next', n, n, 'owner ' || n % 50, 0, n % 5, 'scheduled', 1, 0, 0, NULL, NULL, NULL, NULL, 0, 0
FROM generate_series(1, {rows}) AS n;
INSERT INTO runs SELECT
  'run_' || n, n % 1000, 'ada', 'scheduled', n, n, 1, 'succeeded', NULL, n, 'node', n, n, n, NULL, NULL, NULL, NULL, 0, 0, 0, 0
FROM generate_series(1, {rows}) AS n;
INSERT INTO events SELECT n, 0, 'run.started', n, 'ada', 'tsk_' || n FROM generate_series(1, {rows}) AS n;
INSERT INTO event_batches SELECT n, 1, n FROM generate_series(1, {rows}) AS n;
INSERT INTO records SELECT 'token', n, 'owner ' || n % 50, '{{}}', 1, CASE WHEN n % 3 = 0 THEN n END FROM generate_series(1, {rows}) AS n;
INSERT INTO lines SELECT 'run_' || n, 1, n, 'info', 'text' FROM generate_series(1, {rows}) AS n;
"""
