"""Batches of ordinary starts and successes on PostgreSQL leave the same data as the memory store."""

from __future__ import annotations

import pytest

from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.model.change import Change, Facts
from horae.model.policy import Policies
from horae.model.task import NEW_TASK_STATUS, Task
from horae.stores.memory import MemoryStore
from horae.stores.postgres.fast_path import encode_starts, encode_successes
from horae.stores.sql.claims.ordinary_batch import OrdinaryBatch
from horae.stores.task_cache import CachedTask
from horae.testing.factories import NOON, a_settlement, an_entry
from tests.servers.postgres import PostgresServer
from tests.unit.stores.postgres.ordinary_tasks import (
    CLAIM_CONTEXT,
    decide,
    interval_tasks,
    once_tasks,
    run_all,
)
from tests.unit.stores.postgres.store_setup import new_schema, open_unhurried_store


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("kinds", ["lone", "repeated", "both", "careful"])
async def test_result_equals_that_of_the_memory_store(
    postgres_server: PostgresServer,
    kinds: str,
    failing: bool,  # noqa: FBT001
) -> None:
    tasks = {
        "lone": once_tasks(7),
        "repeated": interval_tasks(7),
        "both": [task for pair in zip(once_tasks(4), interval_tasks(4), strict=True) for task in pair],
        "careful": once_tasks(3, policies=Policies(guarantee="at_most_once")),
    }[kinds]

    memory = MemoryStore()
    async with open_unhurried_store(new_schema(postgres_server)) as store:
        assert await run_all(store, tasks, failing=failing) == await run_all(memory, tasks, failing=failing)
        assert await store.check() == ()


def claimed_runs(task: Task, number: int) -> tuple[CachedTask, Change]:
    entries = (an_entry(task),)
    known = CachedTask(number, 1, task, NEW_TASK_STATUS)
    return known, decide(Facts(task, known.status, entries), entries[0], 1)


def settle_change(known: CachedTask, change: Change) -> Change:
    run = change.new_runs[0]
    assert change.status is not None
    return settle(Facts(known.task, change.status, (), change.new_runs), run, a_settlement(run, started=NOON))


def test_ordinary_start_and_success_are_batched() -> None:
    starts, successes = OrdinaryBatch(), OrdinaryBatch()
    for number, task in enumerate(once_tasks(3)):
        known, change = claimed_runs(task, number)
        after = starts.add(known, change)
        assert after is not None
        assert (after.version, after.live, after.status) == (2, change.new_runs, change.status)
        ended = successes.add(after, settle_change(known, change))
        assert ended is not None
        assert (ended.version, ended.live) == (3, ())
    assert encode_starts(starts, 0) is not None
    assert (len(starts), len(successes)) == (3, 3)
    assert encode_successes(successes, 0)


def test_only_tagged_changes_of_one_kind_are_collected() -> None:
    batch = OrdinaryBatch()
    known, change = claimed_runs(once_tasks(1)[0], 1)
    assert batch.add(known, change._replace(events=())) is None, "a copy has lost its tag"
    assert batch.add(known, Change(*change)) is None
    after = batch.add(known, change)
    assert after is not None
    end = settle_change(known, change)
    assert batch.add(after, end) is None, "starts and successes do not go together"
    other = OrdinaryBatch()
    assert other.add(after, end._replace(dropped=("next",))) is None
    assert len(other) == 0
    assert other.add(after, end) is not None


def test_starts_with_different_tokens_are_not_encoded_together() -> None:
    batch = OrdinaryBatch()
    for number, task in enumerate(once_tasks(2)):
        entries = (an_entry(task),)
        known = CachedTask(number, 1, task, NEW_TASK_STATUS)
        change = fire(Facts(task, known.status, entries), entries[0], 1 + number, CLAIM_CONTEXT)
        assert batch.add(known, change) is not None
    assert encode_starts(batch, 0) is None
