"""Query plans on MySQL: the cost of a hot statement does not grow with the tables."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from horae.clock import SystemClock
from horae.stores import named_sql
from horae.stores.mysql import MySQLStore
from horae.stores.mysql.connection_factory import MySQLConnectionFactory, qualify_tables
from horae.stores.mysql.templates import TemplateArguments, parse_templates
from tests.servers.mariadb import MariaDBServer
from tests.unit.stores.mysql.store_setup import new_prefix, open_store
from tests.unit.stores.mysql.test_statements import KNOWN, STATEMENTS, TRANSACTION_CONTROL, sample_arguments

FULL_SCANS: Final = {
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
    "count_parts",
    "counters_page",
    "sum_counter_deltas",
    "all_lanes",
    "all_nodes",
}
"""Statements of an operator before a move or for a check, or aggregates; they may be slow."""
LISTS: Final = {
    name
    for name in STATEMENTS
    if re.match(
        r"(tasks|runs)_page|upcoming|tasks_parked|latest|waiting|counts|tasks_of_owner"
        r"|(recent_)?tasks_over_run_limit|delete_old_counters",
        name,
    )
}
"""Pages of lists and deletions of retention: each is planned for its arguments."""
GROWING: Final = {"tasks", "labels", "task_state", "agenda", "runs", "events", "lines", "records", "metadata"}
HOT: Final = [name for name in STATEMENTS if name not in FULL_SCANS | LISTS]
HEAD_OF_INDEX: Final = {"expired_rows": {"events"}}
"""Statements that read only the first rows of an index, up to a LIMIT."""
ROWS: Final = 20_000
EXPLAINED: Final = re.compile(r"[( ]*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
FILL: Final = """
INSERT INTO @tasks SELECT seq, CONCAT('tsk_', seq), CONCAT('owner ', seq % 50), 'name', '{}', 'function', '{}', '{}', '{}',
  seq, NULL, NULL, '[]', 1, NULL FROM seq_1_to_20000;
INSERT INTO @task_state (task, version, state, counted, failures, skips_left) SELECT seq, 1, 'active', 0, 0, 0 FROM seq_1_to_20000;
INSERT INTO @agenda (
  task, slot, kind, due, planned, owner, priority, state, origin, attempt, forgiven, deaths, waited, in_order
) SELECT seq, 'next', 'next', seq, seq, CONCAT('owner ', seq % 50), 0, seq % 5, 'scheduled', 1, 0, 0, 0, 0
FROM seq_1_to_20000;
INSERT INTO @runs (
  id, task, owner, origin, planned, due, attempt, state, token, forgiven, deaths, alone, in_order
) SELECT CONCAT('run_', seq), seq % 1000, 'ada', 'scheduled', seq, seq, 1, 'succeeded', seq, 0, 0, 0, 0 FROM seq_1_to_20000;
INSERT INTO @events SELECT seq, 'run.started', seq, 'ada', CONCAT('tsk_', seq), NULL, NULL FROM seq_1_to_20000;
INSERT INTO @lines SELECT CONCAT('run_', seq), 1, seq, 'info', 'text' FROM seq_1_to_20000;
INSERT INTO @records SELECT 'token', seq, CONCAT('owner ', seq % 50), '{}', 1, IF(seq % 3, NULL, seq) FROM seq_1_to_20000;
INSERT INTO @metadata SELECT seq, 'value' FROM seq_1_to_20000;
ANALYZE TABLE @tasks, @task_state, @agenda, @runs, @events, @lines, @records, @metadata
"""
PAUSE: Final = """;
UPDATE @task_state SET state = 'paused', pause_cause = IF(task % 2002, 'requested', 'awaiting_approval') WHERE task % 7 = 0;
ANALYZE TABLE @task_state
"""


async def _explained(store: MySQLStore, names: Collection[str]) -> dict[str, list[str]]:
    """Return every access to a growing table that neither seeks in an index nor stops at a limit."""
    factory = MySQLConnectionFactory(store.address, SystemClock())
    connection = await factory.open_raw()
    server = await factory.read_server_version(connection)
    found: dict[str, list[str]] = {}
    async with connection.cursor() as cursor:
        for order in qualify_tables(FILL, store.address, server).split(";"):
            await cursor.execute(order)
        for name in names:
            text = named_sql.expand_columns(name, KNOWN)
            for template in parse_templates(qualify_tables(text, store.address, server)):
                for each in template.render(sample_arguments(text)).split("; "):
                    if EXPLAINED.match(each) and not TRANSACTION_CONTROL.fullmatch(each):
                        await cursor.execute(f"EXPLAIN {each}")
                        steps = await cursor.fetchall()
                        found.setdefault(name, []).extend(_costly(steps, each, HEAD_OF_INDEX.get(name, set())))
    connection.close()
    return {name: steps for name, steps in found.items() if steps}


def _costly(steps: Any, text: str, allowed: set[str]) -> list[str]:
    names = dict.fromkeys(GROWING - allowed, "")
    for table, alias in re.findall(r"`\w+?_(\w+)` (?:AS (\w+))?", text):
        if table in GROWING - allowed:
            names[alias or table] = table
    found: list[str] = []
    for _, _, table, kind, *_, rows, extra in steps:
        base = re.sub(r"^t[0-9a-f]{12}_", "", str(table))
        if kind in ("ALL", "index") and base in names and int(rows or 0) > ROWS // 10:
            found.append(f"{base} {kind} {rows} {extra}")
    return found


async def test_no_hot_statement_scans_a_growing_table(mariadb_server: MariaDBServer) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        assert await _explained(store, HOT) == {}


async def test_paused_tasks_are_read_by_the_index_of_their_cause(mariadb_server: MariaDBServer) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        factory = MySQLConnectionFactory(store.address, SystemClock())
        connection = await factory.open_raw()
        server = await factory.read_server_version(connection)
        text = qualify_tables(named_sql.expand_columns("tasks_page_of_cause", KNOWN), store.address, server)
        (template,) = parse_templates(text)
        values = (0, 101, None, None, None, None, None, None, None, "[]", "awaiting_approval")
        async with connection.cursor() as cursor:
            for order in qualify_tables(FILL + PAUSE, store.address, server).split(";"):
                await cursor.execute(order)
            await cursor.execute(f"EXPLAIN {template.render(TemplateArguments(values))}")
            first, *_ = await cursor.fetchall()
        connection.close()
        assert (first[2], first[5]) == ("task_state", "task_state_pause_cause")


async def test_newest_outcomes_are_read_by_the_index_of_their_task(mariadb_server: MariaDBServer) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        assert await _explained(store, ["latest_outcomes"]) == {}


async def test_full_scan_is_detected(mariadb_server: MariaDBServer) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        wanted = {"tasks_without_work", "orphan_runs", "wrong_state_counters"}
        assert (await _explained(store, sorted(wanted))).keys() == wanted
