"""Maintenance: retention in batches, expired records, and replanning after new zone data."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta

import pytest

from horae.engine import janitor as janitor_module
from horae.engine.janitor import BATCH_SIZE, EXPIRED_BATCH_SIZE, ZONE_DATA_KEY, Janitor
from horae.errors import Refusal
from horae.lifecycle.control.edit import replan as really_replan
from horae.model.change import Change, Facts
from horae.model.refusals import refuse
from horae.model.run import RunState
from horae.ports.records import Record, RecordWrite
from horae.schedule import TZDATA_VERSION, Every
from horae.testing.factories import (
    DAY,
    HOUR,
    NOON,
    OWNER,
    SECOND,
    a_new_task,
    a_run,
    a_task,
    an_ended_run,
    an_entry,
)
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import SETTINGS, FaultyStore, as_store, list_runs

OLD = NOON - 40 * DAY


def make_janitor(store: FaultyStore, clock: VirtualClock) -> Janitor:
    return Janitor(as_store(store), as_store(store), clock, SETTINGS)


async def test_old_runs_are_deleted_in_batches_and_live_ones_kept(clock: VirtualClock) -> None:
    store = FaultyStore()
    tasks = [a_task() for _ in range(3)]
    for task in tasks:
        old = [an_ended_run(task, planned=OLD + n * SECOND) for n in range(BATCH_SIZE)]
        fresh = [an_ended_run(task, planned=NOON - HOUR), a_run(task)]
        await as_store(store).add([a_new_task(task, entries=[an_entry(task, due=NOON + HOUR)], runs=old + fresh)])
    janitor = make_janitor(store, clock)
    rounds = 1
    while await janitor.step():
        rounds += 1
    assert rounds > 1
    assert all(limit <= BATCH_SIZE for _, _, limit, *_ in store.arguments("trim"))
    left = await list_runs(store)
    assert len(left) == 6
    assert {run.state for run in left} == {RunState.SUCCEEDED, RunState.RUNNING}


async def test_maintenance_pauses_between_batches_and_resumes_after_errors(clock: VirtualClock) -> None:
    store = FaultyStore()
    task = a_task()
    old = [an_ended_run(task, planned=OLD + n * SECOND) for n in range(3 * BATCH_SIZE)]
    await as_store(store).add([a_new_task(task, entries=[an_entry(task, due=NOON + HOUR)], runs=old)])
    store.fail_before("trim")
    store.fail_before("read_metadata")
    janitor = make_janitor(store, clock)
    actor = asyncio.ensure_future(janitor.run())
    await clock.pause(3 * DAY.total_seconds())
    actor.cancel()
    assert await list_runs(store) == []
    assert await as_store(store).read_metadata(ZONE_DATA_KEY) == TZDATA_VERSION


async def put_answers(store: FaultyStore, number: int, expires: datetime | None) -> None:
    answers = [Record("answer", f"{expires}/{each}", OWNER, "{}", expires=expires) for each in range(number)]
    assert await as_store(store).write_records([RecordWrite(each) for each in answers])


async def test_expired_records_are_deleted_in_batches_and_others_kept(clock: VirtualClock) -> None:
    store = FaultyStore()
    await put_answers(store, 2 * EXPIRED_BATCH_SIZE + 1, NOON)
    await put_answers(store, 2, NOON + HOUR)
    await put_answers(store, 3, None)
    janitor = make_janitor(store, clock)
    assert [await janitor.step() for _ in range(3)] == [True, True, False]
    left = (await as_store(store).records("answer", limit=1_000)).items
    assert [record.expires for record in left].count(None) == 3
    assert len(left) == 5
    assert not await janitor.step()
    assert store.count("drop_expired") == 4


async def test_expired_records_are_purged_once_during_a_long_trim(clock: VirtualClock) -> None:
    store = FaultyStore()
    task = a_task()
    old = [an_ended_run(task, planned=OLD + n * SECOND) for n in range(5 * BATCH_SIZE)]
    await as_store(store).add([a_new_task(task, entries=[an_entry(task, due=NOON + HOUR)], runs=old)])
    await put_answers(store, 1, NOON)
    janitor = make_janitor(store, clock)
    while await janitor.step():
        pass
    assert store.count("trim") > 3
    assert store.count("drop_expired") == 1
    assert (await as_store(store).records("answer")).items == ()


# --- newer rules for zones -----------------------------------------------------------------------------------------------


async def planned_at(store: FaultyStore, planned: datetime) -> str:
    """An hourly task whose next occurrence differs from its schedule."""
    task = a_task(schedule=Every(interval=HOUR), created=NOON)
    await as_store(store).add([a_new_task(task, entries=[an_entry(task, due=planned)])])
    return task.id


async def next_of(store: FaultyStore, task_id: str) -> datetime:
    facts = await as_store(store).facts(task_id, OWNER)
    assert facts is not None
    return facts.entries[0].planned


async def test_newer_zone_data_replans_future_occurrences_with_an_event_each(clock: VirtualClock) -> None:
    store = FaultyStore()
    await as_store(store).write_metadata(ZONE_DATA_KEY, "2019a")
    moved = [await planned_at(store, NOON + timedelta(minutes=30 + n)) for n in range(3)]
    right = await planned_at(store, NOON + HOUR)
    janitor = make_janitor(store, clock)
    assert await janitor.update_zone_data() == 3
    for task_id in (*moved, right):
        assert await next_of(store, task_id) == NOON + HOUR
    told = [each.event for each in await as_store(store).events(0) if each.event.kind == "task.replanned"]
    assert {event.task_id for event in told} == set(moved)
    assert all("->" in (event.detail or "") for event in told)
    assert store.count("change") == 3, "what stands right is not written"
    assert await as_store(store).read_metadata(ZONE_DATA_KEY) == TZDATA_VERSION
    assert await janitor.update_zone_data() == 0


@pytest.mark.parametrize("known", [None, TZDATA_VERSION, "2999z"])
async def test_same_or_older_zone_data_replans_nothing(clock: VirtualClock, known: str | None) -> None:
    store = FaultyStore()
    if known is not None:
        await as_store(store).write_metadata(ZONE_DATA_KEY, known)
    task_id = await planned_at(store, NOON + 30 * SECOND)
    assert await make_janitor(store, clock).update_zone_data() == 0
    assert await next_of(store, task_id) == NOON + 30 * SECOND
    assert await as_store(store).read_metadata(ZONE_DATA_KEY) == max(known or "", TZDATA_VERSION)


async def test_task_that_cannot_be_replanned_does_not_stop_others(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    a_refusal: Refusal = refuse("never_fires")
    with caplog.at_level(logging.WARNING, logger="horae"):
        store = FaultyStore()
        await as_store(store).write_metadata(ZONE_DATA_KEY, "2019a")
        bad = await planned_at(store, NOON + timedelta(minutes=10))
        good = await planned_at(store, NOON + timedelta(minutes=10))

        def replan(facts: Facts, now: datetime) -> Change:
            if facts.task.id == bad:
                raise a_refusal
            return really_replan(facts, now)

        monkeypatch.setattr(janitor_module, "replan", replan)
        assert await make_janitor(store, clock).update_zone_data() == 1
        assert await next_of(store, good) == NOON + HOUR
    assert "cannot be planned again" in caplog.text
