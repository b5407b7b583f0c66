"""Whose rows are asked for decides only how they are found: both ways give the same answer, page by page."""

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
from horae.stores.sqlite import SQLiteStore, ledger
from horae.stores.sqlite.connection import SqliteConnection
from horae.testing.factories import NOON, a_new_task, a_task, an_ended_run, an_entry
from tests.unit.stores.sqlite.opening import new_store

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
    """A task with a few ended runs, all of them at instants that others share."""
    task = a_task(owner=OWNERS[number % len(OWNERS)])
    runs = [_a_run(task, number, place) for place in range(6)]
    due = NOON + timedelta(minutes=number % 7)
    return a_new_task(task, entries=[an_entry(task, due=due)])._replace(new_runs=tuple(runs))


def _a_run(task: Task, number: int, place: int) -> Run:
    planned = NOON - timedelta(minutes=(number + place) % 11, seconds=place)
    return an_ended_run(task, planned=planned, state=STATES[(number + place) % len(STATES)])


async def everything(store: SQLiteStore, owner: str, states: frozenset[RunState] | None) -> list[Run]:
    found: list[Run] = []
    after: str | None = None
    while True:
        page = await store.runs(RunFilter(owner, states=states), after, 7)
        found += page.items
        after = page.after
        if after is None:
            return found


@pytest.mark.parametrize("states", FILTERS, ids=lambda states: "-".join(sorted(states or ("any",))))
async def test_runs_are_the_same_by_way_of_tasks_and_among_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, states: frozenset[RunState] | None
) -> None:
    async with new_store(tmp_path) as store:
        await store.add([a_history(number) for number in range(40)])
        for owner in (*OWNERS[2:], "nobody"):
            answers: list[Sequence[Run]] = []
            for large in (True, False):
                monkeypatch.setattr(ledger, "_is_large_owner", lambda *_, large=large, **__: large)
                answers.append(await everything(store, owner, states))
            assert answers[0] == answers[1]
            assert all(run.owner == owner for run in answers[0])
            assert bool(answers[0]) == (owner != "nobody" and states != frozenset({RunState.LOST}))


async def test_what_comes_next_is_the_same_by_way_of_tasks_and_among_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with new_store(tmp_path) as store:
        await store.add([a_history(number) for number in range(40)])
        for owner, tasks in (("ada", 24), ("bob", 8), ("nobody", 0)):
            answers = []
            for large in (True, False):
                monkeypatch.setattr(ledger, "_is_large_owner", lambda *_, large=large, **__: large)
                answers.append([facts.entries[0].due for facts in await store.upcoming(owner, 30)])
            assert answers[0] == answers[1]
            assert len(answers[0]) == tasks


async def test_a_share_in_all_makes_an_owner_large(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.add([a_new_task(a_task(owner="ada" if number else "bob")) for number in range(100)])
        large = {owner: await store._readers.run(partial(_asked, owner=owner)) for owner in ("ada", "bob")}
        assert large == {"ada": True, "bob": False}


def _asked(link: SqliteConnection, owner: str) -> bool:
    return ledger._is_large_owner(link, owner, count=20, rows_per_task=1)
