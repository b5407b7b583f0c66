"""What is read on the event loop is a few rows; what may be many is read beside it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from horae.stores.sqlite.connection import Bindings, Row, SqliteConnection, sql
from horae.testing.factories import NOON, a_new_task, a_task, an_ended_run
from tests.unit.stores.sqlite.opening import new_store

CROWD = 300


async def test_a_run_among_many_of_one_instant_is_not_looked_for_on_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops_own: set[str] = set()
    loop, query = threading.get_ident(), SqliteConnection.query

    def noted(link: SqliteConnection, statement: str, bindings: Bindings = ()) -> list[Row]:
        if threading.get_ident() == loop:
            loops_own.add(statement)
        return query(link, statement, bindings)

    async with new_store(tmp_path) as store:
        tasks = [a_task() for _ in range(CROWD)]
        runs = [an_ended_run(task, planned=NOON) for task in tasks]
        await store.add([a_new_task(task)._replace(new_runs=(run,)) for task, run in zip(tasks, runs, strict=True)])
        monkeypatch.setattr(SqliteConnection, "query", noted)
        for run in (runs[0], runs[-1]):
            assert await store.run(run.id, None) == run
        assert await store.run(f"{runs[0].id[:-4]}zzzz", None) is None
        assert sql("live_run") in loops_own, "what goes on is found by its name"
        assert sql("ended_run") not in loops_own, "all of an instant may be a million"
