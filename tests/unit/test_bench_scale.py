"""The scale benchmark reports, and its generated rows equal those that a store writes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Any

import asyncpg
import pytest

from bench.counts import Counts
from bench.lists.filling import LARGE_OWNER, RARE_LABEL, RARE_TEXT, SMALL_OWNER
from bench.results import Section
from bench.scale.curve import matrix, milliseconds
from bench.scale.family import SCALE
from bench.scale.filling import grow
from bench.scale.ladder import ladder
from bench.scale.models import ACTIVE, DAY, FAILED, MODELS, PAUSED
from bench.table import as_text
from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.counts import NO_HOUR, STATE_PREFIX
from horae.model.outcome import Settlement, Succeeded
from horae.model.task import TaskState
from horae.ports.store import DEFAULT_TERMS, Node, RunFilter, TaskFilter
from horae.schedule import Past, next  # noqa: A004 - the product's own question
from horae.stores.postgres import PostgresStore
from tests.servers.postgres import PostgresServer
from tests.sizes import SOAK

TINY = Counts(instants=1, texts=1, rounds=1, singles=1, processes=1, values=1, zones=1)
IDENTITY = {
    "tasks": {"seq", "id", "owner", "name", "created", "labels"},
    "task_state": {"task", "last_end", "paused_since", "ended", "listed_end"},
    "agenda": {"task", "due", "planned", "owner"},
    "runs": {"id", "task", "owner", "planned", "due", "claimed", "started", "ended"},
}
"""What makes a row another one; all else is its model's."""
TASKS = 1_200
STATES = {ACTIVE: TaskState.ACTIVE, PAUSED: TaskState.PAUSED, FAILED: TaskState.FAILED}


@pytest.mark.parametrize(
    "benchmark", [each for each in SCALE if SOAK or each is not ladder], ids=lambda benchmark: benchmark.__name__
)
def test_every_part_reports(benchmark: Callable[[Counts], Iterable[Section]]) -> None:
    sections = list(benchmark(TINY))
    assert sections
    for section in sections:
        assert section.rows
        assert all(row.what in as_text(section) for row in section.rows)


def fill(url: str) -> None:
    """In two steps, as it grows when it is measured."""
    for tasks in (150, TASKS):
        grow(url, tasks)


@pytest.fixture(scope="module")
def filled(postgres_server: PostgresServer) -> Iterator[str]:
    """For tests that read."""
    url = postgres_server.new_database()
    fill(url)
    yield url
    postgres_server.drop_database(url)


async def rows_of(url: str, table: str) -> dict[int, dict[str, Any]]:
    """By the number of the task, of which each has at most one row in each table."""
    number = "seq" if table == "tasks" else "task"
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(f"SELECT * FROM horae.{table}")  # noqa: S608 - our own names
    finally:
        await connection.close()
    found = {row[number]: dict(row) for row in rows}
    assert len(found) == len(rows)
    return found


def model_of(number: int) -> int:
    return number if number in MODELS else {1: FAILED, 2: PAUSED, 3: PAUSED}.get(number % 100, ACTIVE)


@pytest.mark.parametrize("table", IDENTITY)
async def test_generated_rows_differ_from_their_model_in_identity_only(filled: str, table: str) -> None:
    rows = await rows_of(filled, table)
    assert rows
    for number, row in rows.items():
        if number not in MODELS:
            model = rows[model_of(number)]
            different = {name for name, value in row.items() if value != model[name]}
            assert different <= IDENTITY[table], number


async def looked_at(url: str, look: Callable[[PostgresStore], Awaitable[None]]) -> None:
    store = PostgresStore(url)
    await store.open()
    try:
        await look(store)
    finally:
        await store.close()


async def test_generated_store_passes_the_integrity_check_and_counters(filled: str) -> None:
    async def look(store: PostgresStore) -> None:
        assert await store.check() == ()
        for state in TaskState:
            found = [number for number in range(1, TASKS + 1) if STATES[model_of(number)] is state]
            counted = (await store.counts(None, [NO_HOUR])).get((NO_HOUR, f"{STATE_PREFIX}{state}"), 0)
            assert counted == len(found)

    await looked_at(filled, look)


async def test_generated_tasks_are_planned_on_their_schedule(filled: str) -> None:
    async def look(store: PostgresStore) -> None:
        page = await store.tasks(TaskFilter(owner=LARGE_OWNER, states=frozenset({TaskState.ACTIVE})))
        latest = await store.latest([facts.task.id for facts in page.items])
        assert page.items
        for facts in page.items:
            (entry,) = facts.entries
            ran = latest[facts.task.id]
            assert entry.planned == next(facts.task.schedule, ran.planned, Past(facts.task.created))
            assert ran.planned == facts.task.created + DAY
            assert ran.ended == facts.status.last_end

    await looked_at(filled, look)


async def test_rare_rows_have_a_constant_number(filled: str) -> None:
    async def look(store: PostgresStore) -> None:
        for wanted in (TaskFilter(text=RARE_TEXT), TaskFilter(labels=(RARE_LABEL,))):
            assert [facts.task.name for facts in (await store.tasks(wanted)).items] == ["fetch quarterly 001001"]
        assert len((await store.tasks(TaskFilter(owner=SMALL_OWNER))).items) == 2

    await looked_at(filled, look)


async def test_generated_tasks_can_be_claimed_and_settled(postgres_url: str) -> None:
    await asyncio.to_thread(fill, postgres_url)

    async def look(store: PostgresStore) -> None:
        now = await store.next_due()
        assert now is not None
        await store.join(Node("nod_1", "here", "0", now, now))
        decide = partial(fire, claim=ClaimContext("nod_1", now, DEFAULT_TERMS.poll_ceiling))
        ((task, run),) = (await store.claim_due(now, "nod_1", 10, decide)).runs
        assert not await store.settle([Settlement(run.id, run.token, Succeeded(), now, now)], settle)
        runs = (await store.runs(RunFilter(task_id=task.id))).items
        assert [each.planned for each in runs] == [now, now - DAY]
        assert await store.check() == ()

    await looked_at(postgres_url, look)


def test_table_is_one_note() -> None:
    told = matrix(("rate", "late"), [("10", milliseconds([0.001, 0.5], 0.5, 1.0)), ("20", milliseconds([], 0.5))])
    assert told.splitlines() == ["| rate | late |", "| --- | --: |", "| 10 | 1.0 / 500 |", "| 20 | no answer |"]
