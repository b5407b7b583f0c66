"""What is ordinary is written at once, and leaves behind exactly what the memory store has of the same decisions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import pytest

from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.outcome import Failed, Outcome, Settlement, Succeeded
from horae.model.policy import Policies
from horae.model.task import NEW_TASK_STATUS, Task
from horae.ports.full_store import FullStore
from horae.ports.store import Claimed
from horae.schedule import Every, Once
from horae.stores.memory import MemoryStore
from horae.stores.postgres.fast_path import encode_starts, encode_successes
from horae.stores.sql.ordinary_batch import OrdinaryBatch
from horae.stores.task_cache import CachedTask
from horae.testing.contracts.stores.setup import add_tasks, read_all
from horae.testing.factories import HOUR, MICROSECOND, NODE, NOON, SECOND, a_node, a_settlement, a_task, an_entry
from tests.servers.postgres import PostgresServer
from tests.unit.stores.postgres.opening import new_schema, opened

CLAIMANT: Final = ClaimContext(NODE, NOON, timedelta(seconds=10))
RESULTS: Final = (None, '"plain"', '"a \\"quoted\\" word, {braces} and \\\\"', '"花"', "[null,1]")


def decide(facts: Facts, entry: Entry, token: int) -> Change:
    return fire(facts, entry, token, CLAIMANT)


def lone(count: int, **fields: Any) -> list[Task]:
    return [a_task(schedule=Once(at=NOON), **fields) for _ in range(count)]


def repeated(count: int) -> list[Task]:
    return [a_task(schedule=Every(interval=HOUR)) for _ in range(count)]


def ending(claimed: Claimed, place: int, outcome: Outcome) -> Settlement:
    return a_settlement(claimed.run, outcome=outcome, started=NOON, ended=NOON + SECOND + place * MICROSECOND)


async def lived(store: FullStore, tasks: list[Task], *, failing: bool) -> tuple[object, ...]:
    """All begin together and end together."""
    await store.join(a_node())
    await add_tasks(store, *tasks)
    begun = (await store.claim_due(NOON, NODE, 1_000, decide)).runs
    assert len(begun) == len(tasks)
    reports = [ending(each, place, Succeeded(RESULTS[place % len(RESULTS)])) for place, each in enumerate(begun)]
    if failing:
        reports[1] = ending(begun[1], 1, Failed("no", permanent=True))
    assert await store.settle(reports, settle) == frozenset()
    assert await store.settle(reports, settle) == {each.run.id for each in begun}, "what has ended stays so"
    return (*await read_all(store), await store.counts(None, [0, int(NOON.timestamp()) // 3600]))


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("kinds", ["lone", "repeated", "both", "careful"])
async def test_it_leaves_behind_what_memory_does(postgres_server: PostgresServer, kinds: str, failing: bool) -> None:  # noqa: FBT001 - one of two
    tasks = {
        "lone": lone(7),
        "repeated": repeated(7),
        "both": [task for pair in zip(lone(4), repeated(4), strict=True) for task in pair],
        "careful": lone(3, policies=Policies(guarantee="at_most_once")),
    }[kinds]

    memory = MemoryStore()
    async with opened(new_schema(postgres_server)) as store:
        assert await lived(store, tasks, failing=failing) == await lived(memory, tasks, failing=failing)
        assert await store.check() == ()


def begun(task: Task, number: int) -> tuple[CachedTask, tuple[Entry, ...], Change]:
    entries = (an_entry(task),)
    known = CachedTask(number, 1, task, NEW_TASK_STATUS)
    return known, entries, decide(Facts(task, known.status, entries), entries[0], 1)


def ended(known: CachedTask, change: Change) -> Change:
    born = change.new_runs[0]
    assert change.status is not None
    return settle(Facts(known.task, change.status, (), change.new_runs), born, a_settlement(born, started=NOON))


def test_what_the_rules_say_of_a_lone_occurrence_is_taken_as_it_is() -> None:
    births, successes = OrdinaryBatch(), OrdinaryBatch()
    for number, task in enumerate(lone(3)):
        known, entries, change = begun(task, number)
        after = births.add(known, entries, change)
        assert after is not None
        assert (after.version, after.live, after.status) == (2, change.new_runs, change.status)
        over = successes.add(after, (), ended(known, change))
        assert over is not None
        assert (over.version, over.live) == (3, ())
    assert encode_starts(births, 0) is not None
    assert encode_successes(successes, 0) is not None


def test_only_tagged_changes_of_one_kind_are_collected() -> None:
    batch = OrdinaryBatch()
    known, entries, change = begun(lone(1)[0], 1)
    assert batch.add(known, entries, change._replace(events=())) is None, "a copy has lost its tag"
    assert batch.add(known, entries, Change(*change)) is None
    after = batch.add(known, entries, change)
    assert after is not None
    end = ended(known, change)
    assert batch.add(after, (), end) is None, "starts and successes do not go together"
    other = OrdinaryBatch()
    assert other.add(after, (), end._replace(dropped=("next",))) is None
    assert other.decisions == []
    assert other.add(after, (), end) is not None


def test_runs_that_began_differently_are_written_piece_by_piece() -> None:
    batch = OrdinaryBatch()
    for number, task in enumerate(lone(2)):
        entries = (an_entry(task),)
        known = CachedTask(number, 1, task, NEW_TASK_STATUS)
        change = fire(Facts(task, known.status, entries), entries[0], 1 + number, CLAIMANT)
        assert batch.add(known, entries, change) is not None
    assert encode_starts(batch, 0) is None
