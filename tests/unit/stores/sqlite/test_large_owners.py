"""Run and agenda pages of large and small owners: different indexes, the same result."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from horae.model.change import Change
from horae.model.run import Run, RunState
from horae.model.task import Task
from horae.ports.store import RunFilter
from horae.stores.sql.connection import Statements
from horae.stores.sql.reads import ledger
from horae.stores.sqlite import SQLiteStore
from horae.testing.factories import NOON, a_new_task, a_task, an_ended_run, an_entry
from tests.unit.stores.sqlite.store_setup import new_store

OWNERS: Final = ("ada", "ada", "ada", "bob", "cleo")
STATES: Final = (RunState.SUCCEEDED, RunState.FAILED, RunState.SUCCEEDED, RunState.CANCELLED, RunState.SKIPPED)
FILTERS: Final = (
    None,
    frozenset({RunState.FAILED}),
    frozenset({RunState.CANCELLED, RunState.SKIPPED}),
    frozenset({RunState.SUCCEEDED}),
    frozenset({RunState.LOST}),
)


def a_history(number: int) -> Change:
    """Make a task with a few ended runs at instants shared with other tasks."""
    task = a_task(owner=OWNERS[number % len(OWNERS)])
    runs = [_a_run(task, number, index) for index in range(6)]
    due = NOON + timedelta(minutes=number % 7)
    return a_new_task(task, entries=[an_entry(task, due=due)])._replace(new_runs=tuple(runs))


def _a_run(task: Task, number: int, index: int) -> Run:
    planned = NOON - timedelta(minutes=(number + index) % 11, seconds=index)
    return an_ended_run(task, planned=planned, state=STATES[(number + index) % len(STATES)])


async def read_all_pages(store: SQLiteStore, owner: str, states: frozenset[RunState] | None) -> list[Run]:
    found: list[Run] = []
    after: str | None = None
    while True:
        page = await store.runs(RunFilter(owner, states=states), after, 7)
        found += page.items
        after = page.after
        if after is None:
            return found


@pytest.mark.parametrize("states", FILTERS, ids=lambda states: "-".join(sorted(states or ("any",))))
async def test_run_pages_are_equal_by_task_and_by_run_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, states: frozenset[RunState] | None
) -> None:
    async with new_store(tmp_path) as store:
        await store.add([a_history(number) for number in range(40)])
        for owner in (*OWNERS[2:], "nobody"):
            answers: list[Sequence[Run]] = []
            for large in (True, False):
                monkeypatch.setattr(ledger, "is_owner_large", lambda *_, large=large: large)
                answers.append(await read_all_pages(store, owner, states))
            assert answers[0] == answers[1]
            assert all(run.owner == owner for run in answers[0])
            assert bool(answers[0]) == (owner != "nobody" and states != frozenset({RunState.LOST}))


async def test_upcoming_is_equal_by_task_and_by_agenda_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with new_store(tmp_path) as store:
        await store.add([a_history(number) for number in range(40)])
        for owner, tasks in (("ada", 24), ("bob", 8), ("nobody", 0)):
            answers = []
            for large in (True, False):
                monkeypatch.setattr(ledger, "is_owner_large", lambda *_, large=large: large)
                answers.append([facts.entries[0].due for facts in await store.upcoming(owner, 30)])
            assert answers[0] == answers[1]
            assert len(answers[0]) == tasks


async def test_owner_of_most_tasks_is_large(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.add([a_new_task(a_task(owner="ada" if number else "bob")) for number in range(100)])
        large = {owner: await store._database.read(partial(is_large_owner, owner=owner)) for owner in ("ada", "bob")}
        assert large == {"ada": True, "bob": False}


async def is_large_owner(statements: Statements, owner: str) -> bool:
    return await ledger._is_large_owner(statements, owner, row_count=20, rows_per_task=1)
