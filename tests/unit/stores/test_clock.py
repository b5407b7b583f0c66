"""Stores read the time from the clock that they are given, never from the machine."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

import horae.stores
from horae.model.change import Change
from horae.model.counts import NO_HOUR, OUTCOME_RETAINED_HOURS, SUCCEEDED_COUNTER, hour_of
from horae.model.task import Task
from horae.ports.full_store import FullStore
from horae.ports.transfer import CounterValue, Part
from horae.runtime import make_store
from horae.testing.decisions import always
from horae.testing.factories import DAY, HOUR, a_new_task, a_task, an_ended_run
from horae.virtual_time import VirtualClock

LONG_AGO = datetime(2001, 5, 1, 12, 30, tzinfo=UTC)
FAR_AHEAD = datetime(2101, 5, 1, 12, 30, tzinfo=UTC)
_PATIENCE = 60


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/horae.db"
    server_url: str = request.getfixturevalue(f"{request.param}_url")
    return server_url


@asynccontextmanager
async def opened(url: str, clock: VirtualClock) -> AsyncIterator[FullStore]:
    store = make_store(url, clock)
    async with asyncio.timeout(_PATIENCE):
        await store.open()
        try:
            yield store
        finally:
            await store.close()


async def add_ended_run(store: FullStore, task: Task, at: datetime) -> None:
    await store.change(task.id, None, always(Change(new_runs=(an_ended_run(task, planned=at),))))


async def counted_hours(store: FullStore, *instants: datetime) -> set[int]:
    """Those hours of the instants in which the store counts a successful run."""
    counts = await store.counts(None, list(map(hour_of, instants)))
    return {hour for hour, name in counts if name == SUCCEEDED_COUNTER}


async def stored_hours(store: FullStore, now: datetime) -> set[int]:
    """The hours of all counters that are stored after upkeep, asked for or not."""
    await store.trim(now - 10_000 * DAY, 1_000, 100)
    page = await store.export_page(Part.COUNTERS)
    return {item.hour for item in page.items if isinstance(item, CounterValue)} - {NO_HOUR}


async def test_old_counters_are_dropped_while_the_machines_clock_is_behind(url: str) -> None:
    clock, task = VirtualClock(FAR_AHEAD), a_task()
    async with opened(url, clock) as store:
        await store.add([a_new_task(task)])
        old = clock.now() - OUTCOME_RETAINED_HOURS * HOUR
        for at in (old, old + HOUR, clock.now()):
            await add_ended_run(store, task, at)
        kept = {hour_of(old) + 1, hour_of(clock.now())}
        assert await counted_hours(store, old, old + HOUR, clock.now()) == kept
        assert await stored_hours(store, clock.now()) == kept


async def test_counters_are_kept_while_the_machines_clock_is_ahead(url: str) -> None:
    """A run of a later day than the store's clock shows drops nothing, although that day is past on the machine."""
    clock, task = VirtualClock(LONG_AGO), a_task()
    now, later = LONG_AGO, LONG_AGO + 100 * DAY
    async with opened(url, clock) as store:
        await store.add([a_new_task(task)])
        await add_ended_run(store, task, now)
        await add_ended_run(store, task, later)
        assert await counted_hours(store, now, later) == {hour_of(now), hour_of(later)}
        assert await stored_hours(store, now) == {hour_of(now), hour_of(later)}
        clock.advance(OUTCOME_RETAINED_HOURS * 3600)
        await add_ended_run(store, task, clock.now())
        assert await counted_hours(store, now, clock.now(), later) == {hour_of(clock.now()), hour_of(later)}
        assert await stored_hours(store, now) == {hour_of(clock.now()), hour_of(later)}


def test_only_constructors_of_stores_know_the_system_clock() -> None:
    root = Path(horae.stores.__file__).parent
    modules = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if "SystemClock" in names_in(path)}
    assert modules == {"mysql/store.py", "postgres/store.py", "redis/store.py", "sqlite/store.py"}


def names_in(path: Path) -> set[str]:
    return {
        alias.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
