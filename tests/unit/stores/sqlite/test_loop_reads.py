"""Reads on the event loop touch few rows; reads of many rows go to a reader thread."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from horae.stores.sqlite.connection import Bindings, Row, SqliteConnection, sql
from horae.testing.factories import NOON, a_new_task, a_task, an_ended_run
from tests.unit.stores.sqlite.store_setup import new_store

RUNS = 300


async def test_search_among_runs_of_one_instant_does_not_block_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop_statements: set[str] = set()
    loop, query = threading.get_ident(), SqliteConnection.query

    def record_query(link: SqliteConnection, statement: str, bindings: Bindings = ()) -> list[Row]:
        if threading.get_ident() == loop:
            loop_statements.add(statement)
        return query(link, statement, bindings)

    async with new_store(tmp_path) as store:
        tasks = [a_task() for _ in range(RUNS)]
        runs = [an_ended_run(task, planned=NOON) for task in tasks]
        await store.add([a_new_task(task)._replace(new_runs=(run,)) for task, run in zip(tasks, runs, strict=True)])
        monkeypatch.setattr(SqliteConnection, "query", record_query)
        for run in (runs[0], runs[-1]):
            assert await store.run(run.id, None) == run
        assert await store.run(f"{runs[0].id[:-4]}zzzz", None) is None
        assert sql("run_live") in loop_statements, "what goes on is found by its name"
        assert sql("run_at") not in loop_statements, "all of an instant may be a million"
