"""Ordinary tasks for PostgreSQL tests: make, claim and settle many at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.outcome import Failed, Outcome, Settlement, Succeeded
from horae.model.task import Task
from horae.ports.full_store import FullStore
from horae.ports.store import Claimed
from horae.schedule import Every, Once
from horae.testing.contracts.stores.setup import add_tasks, read_all
from horae.testing.factories import HOUR, MICROSECOND, NODE, NOON, SECOND, a_node, a_settlement, a_task

CLAIM_CONTEXT: Final = ClaimContext(NODE, NOON, timedelta(seconds=10))


RESULTS: Final = (None, '"plain"', '"a \\"quoted\\" word, {braces} and \\\\"', '"花"', "[null,1]")


def decide(facts: Facts, entry: Entry, token: int) -> Change:
    return fire(facts, entry, token, CLAIM_CONTEXT)


def once_tasks(count: int, **fields: Any) -> list[Task]:
    return [a_task(schedule=Once(at=NOON), **fields) for _ in range(count)]


def interval_tasks(count: int, **fields: Any) -> list[Task]:
    return [a_task(schedule=Every(interval=HOUR), **fields) for _ in range(count)]


def settlement(claimed: Claimed, place: int, outcome: Outcome) -> Settlement:
    return a_settlement(claimed.run, outcome=outcome, started=NOON, ended=NOON + SECOND + place * MICROSECOND)


async def run_all(store: FullStore, tasks: list[Task], *, failing: bool) -> tuple[object, ...]:
    """Claim and settle all tasks together; return everything in the store, with the events of each task in their order.
    An ordinary end does not wait for the others of its batch, so there is no order between tasks."""
    await store.join(a_node())
    await add_tasks(store, *tasks)
    claimed_runs = (await store.claim_due(NOON, NODE, 1_000, decide)).runs
    assert len(claimed_runs) == len(tasks)
    reports = [
        settlement(each, place, Succeeded(RESULTS[place % len(RESULTS)])) for place, each in enumerate(claimed_runs)
    ]
    if failing:
        reports[1] = settlement(claimed_runs[1], 1, Failed("no", permanent=True))
    assert await store.settle(reports, settle) == frozenset()
    assert await store.settle(reports, settle) == {each.run.id for each in claimed_runs}, "what has ended stays so"
    facts, runs, _, *rest = await read_all(store)
    events = await store.events(0)
    by_task = sorted([each.event for each in events], key=lambda event: event.task_id)
    counts = await store.counts(None, [0, int(NOON.timestamp()) // 3600])
    return (facts, runs, [each.number for each in events], by_task, *rest, counts)
