"""The use cases on tasks: made once, edited on difference, many at once, and only seen by whom they belong to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest

from horae.errors import Conflict, InvalidSchedule, InvalidTask, NotFound, StoreError
from horae.lifecycle.explain import Verdict
from horae.lifecycle.settle import settle
from horae.model.accounts.principal import Principal
from horae.model.ids import run_id
from horae.model.limits import BULK_TASKS
from horae.model.run import Origin, RunState
from horae.model.task import Target, Task, TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.schedule import Every, Once
from horae.service.runs.ledger import Ledger
from horae.service.runs.runs import Runs
from horae.service.tasks.task_request import Options, TaskRequest
from horae.service.tasks.tasks import Tasks
from horae.stores.memory import MemoryStore
from horae.testing.decisions import start_everything
from horae.testing.factories import HOUR, MINUTE, NODE, NOON, SECOND, a_node, a_settlement
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import Door, as_store

ADA = Principal("ada")
BOB = Principal("bob")
ROOT = Principal("root", admin=True)
TARGET = Target("function", '{"name":"garden.water"}')


def itself(task: Task) -> Task:
    return task


def a_wish(when: object = "every 1h", **fields: object) -> TaskRequest:
    return TaskRequest("water the plants", when, TARGET, zone="UTC")._replace(**fields)  # type: ignore[arg-type]


class Desk:
    """The service on a store in memory, and all that it told."""

    def __init__(self, store: object | None = None) -> None:
        self.store = as_store(MemoryStore() if store is None else store)
        self.clock = VirtualClock(NOON)
        self.told: list[datetime | None] = []
        self.tasks = Tasks(self.store, self.clock, "Europe/Berlin", self.told.append)
        self.ledger = Ledger(self.store, self.clock)
        self.runs = Runs(self.store, self.store, self.clock)

    async def all(self) -> list[Task]:
        return [facts.task for facts in (await self.store.tasks(TaskFilter(), limit=1_000)).items]


async def test_a_task_is_made_and_its_first_instant_told() -> None:
    desk = Desk()
    task = await desk.tasks.create(ADA, a_wish())
    assert (task.owner, task.schedule, task.created) == ("ada", Every(interval=HOUR, zone="UTC"), NOON)
    assert desk.told == [NOON + HOUR]
    assert (await desk.tasks.get(ADA, task.id)).entries[0].planned == NOON + HOUR


async def test_a_zone_comes_from_the_wish_or_else_from_the_desk() -> None:
    desk = Desk()
    named = await desk.tasks.create(ADA, a_wish("0 9 * * *", zone="Asia/Tokyo"))
    silent = await desk.tasks.create(ADA, a_wish("0 9 * * *", zone=None))
    assert (named.schedule.zone, silent.schedule.zone) == ("Asia/Tokyo", "Europe/Berlin")


# --- declared: by a natural key ------------------------------------------------------------------------------------------


async def test_to_say_the_same_twice_changes_nothing() -> None:
    desk = Desk()
    first = await desk.tasks.create(ADA, a_wish(key="garden"))
    events = await desk.store.last_event()
    desk.clock.advance(600)
    assert await desk.tasks.create(ADA, a_wish(key="garden")) == first
    assert await desk.tasks.declare(ADA, a_wish(key="garden")) == first
    assert await desk.store.last_event() == events
    assert await desk.all() == [first]


@pytest.mark.parametrize(
    "different",
    [
        {"when": "every 2h"},
        {"payload": '{"litres":2}'},
        {"options": Options(priority=5)},
        {"lane": "hose"},
        {"labels": {"source": "import"}},
        {"name": "drown the plants"},
    ],
)
async def test_whatever_differs_is_edited_in_place(different: dict[str, object]) -> None:
    desk = Desk()
    first = await desk.tasks.create(ADA, a_wish(key="garden"))
    desk.clock.advance(600)
    second = await desk.tasks.create(ADA, a_wish(key="garden", **different))
    assert (second.id, second.created, second.version) == (first.id, first.created, 2)
    assert second != first._replace(version=2)
    assert await desk.tasks.create(ADA, a_wish(key="garden", **different)) == second


async def test_a_new_schedule_is_told_with_its_first_instant() -> None:
    desk = Desk()
    await desk.tasks.create(ADA, a_wish(key="garden"))
    await desk.tasks.create(ADA, a_wish("every 5m", key="garden"))
    assert desk.told == [NOON + HOUR, NOON + 5 * MINUTE]


async def test_the_same_key_of_two_owners_is_two_tasks() -> None:
    desk = Desk()
    hers = await desk.tasks.create(ADA, a_wish(key="garden"))
    his = await desk.tasks.create(BOB, a_wish(key="garden"))
    assert hers.id != his.id


async def test_two_who_declare_at_once_end_with_one_task() -> None:
    desk = Desk()
    made = await asyncio.gather(*(desk.tasks.declare(ADA, a_wish(key="garden")) for _ in range(5)))
    assert len({task.id for task in made}) == 1
    assert len(await desk.all()) == 1


async def test_what_was_cancelled_for_good_is_not_declared_anew() -> None:
    desk = Desk()
    task = await desk.tasks.declare(ADA, a_wish(key="garden"))
    await desk.tasks.cancel(ADA, task.id)
    assert await desk.tasks.declare(ADA, a_wish(key="garden")) == task
    with pytest.raises(Conflict) as refusal:
        await desk.tasks.declare(ADA, a_wish("every 2h", key="garden"))
    assert refusal.value.code == "key_of_cancelled"


async def test_to_declare_needs_a_key() -> None:
    desk = Desk()
    with pytest.raises(InvalidTask) as refusal:
        await desk.tasks.declare(ADA, a_wish())
    assert refusal.value.code == "bad_text"


# --- many at once --------------------------------------------------------------------------------------------------------


async def test_many_are_told_once_with_the_first_instant_of_all() -> None:
    desk = Desk()
    wishes = [a_wish(f"in {minutes}m") for minutes in (30, 10, 20)]
    made = await desk.tasks.create_many(ADA, wishes, itself)
    assert [task.schedule for task in made] == [
        Once(at=NOON + minutes * MINUTE, zone="UTC") for minutes in (30, 10, 20)
    ]
    assert {task.id for task in made} == {task.id for task in await desk.all()}
    assert desk.told == [NOON + 10 * MINUTE]


async def test_none_at_all_is_no_news() -> None:
    desk = Desk()
    assert await desk.tasks.create_many(ADA, [], itself) == []
    assert desk.told == []


async def test_up_to_a_thousand_are_one_write_and_more_are_several() -> None:
    store = Door()
    desk = Desk(store)
    made = await desk.tasks.create_many(ADA, [a_wish()] * (2 * BULK_TASKS + 1), itself)
    assert len({task.id for task in made}) == 2 * BULK_TASKS + 1
    assert [len(changes) for (changes,) in store.arguments("add")] == [BULK_TASKS, BULK_TASKS, 1]


@pytest.mark.parametrize("place", [0, 999, 1_500, 2_200])
async def test_a_bad_wish_anywhere_leaves_nothing_behind(place: int) -> None:
    desk = Desk()
    wishes = [a_wish()] * 2_201
    wishes[place] = a_wish("at some point")
    with pytest.raises(InvalidSchedule) as refusal:
        await desk.tasks.create_many(ADA, wishes, itself)
    assert refusal.value.__notes__ == [f"This was number {place + 1}; nothing was written."]
    assert await desk.all() == []
    assert desk.told == []


async def test_a_key_that_is_taken_leaves_nothing_of_its_chunk() -> None:
    desk = Desk()
    await desk.tasks.create(ADA, a_wish(key="garden"))
    with pytest.raises(Conflict) as refusal:
        await desk.tasks.create_many(ADA, [a_wish(), a_wish(key="garden")], itself)
    assert refusal.value.code == "key_taken"
    assert len(await desk.all()) == 1


async def test_a_store_that_fails_in_the_second_chunk_keeps_the_first_and_tells_of_it() -> None:
    store = Door()
    desk = Desk(store)
    add, calls = store.inner.add, []  # type: ignore[attr-defined]

    async def fails_the_second_time(changes: object) -> None:
        calls.append(changes)
        if len(calls) == 2:
            raise StoreError("full")
        await add(changes)

    store.inner.add = fails_the_second_time  # type: ignore[attr-defined]
    with pytest.raises(StoreError):
        await desk.tasks.create_many(ADA, [a_wish()] * (BULK_TASKS + 1), itself)
    assert len(await desk.all()) == BULK_TASKS
    assert desk.told == [NOON + HOUR]


# --- who may -------------------------------------------------------------------------------------------------------------


async def test_a_foreign_task_answers_exactly_like_one_that_is_not_there() -> None:
    desk = Desk()
    task = await desk.tasks.create(ADA, a_wish())
    asks: list[Callable[[str], Awaitable[object]]] = [
        lambda each: desk.tasks.get(BOB, each),
        lambda each: desk.tasks.pause(BOB, each),
        lambda each: desk.tasks.resume(BOB, each),
        lambda each: desk.tasks.cancel(BOB, each),
        lambda each: desk.tasks.delete(BOB, each),
        lambda each: desk.tasks.run_now(BOB, each),
        lambda each: desk.tasks.skip_next(BOB, each),
        lambda each: desk.tasks.backfill(BOB, each, NOON, NOON),
        lambda each: desk.tasks.cancel_run(BOB, each, "run_1"),
        lambda each: desk.ledger.why(BOB, each, NOON),
    ]
    for ask in asks:
        answers = []
        for task_id in (task.id, "tsk_nobody"):
            with pytest.raises(NotFound) as refusal:
                await ask(task_id)
            answers.append((refusal.value.code, refusal.value.message.replace(task_id, "?")))
        assert answers[0] == answers[1]
    assert (await desk.runs.page(BOB, RunFilter(task_id=task.id))).items == ()
    facts = await desk.tasks.get(ADA, task.id)
    assert (facts.task, facts.status.state, len(facts.entries)) == (task, TaskState.ACTIVE, 1)
    assert desk.told == [NOON + HOUR]


async def test_a_foreign_run_answers_exactly_like_one_that_is_not_there() -> None:
    desk = Desk()
    await desk.tasks.create(ADA, a_wish("now"))
    await desk.store.join(a_node())
    ((_, run),) = (await desk.store.claim_due(NOON, NODE, 1, start_everything)).runs
    assert (await desk.runs.get(ADA, run.id)) == run
    assert await desk.runs.lines(ADA, run.id) == ()
    for ask in (desk.runs.get, desk.runs.lines):
        for name in (run.id, "run_nobody"):
            with pytest.raises(NotFound) as refusal:
                await ask(BOB, name)
            assert refusal.value.code == "no_such_run"


async def test_only_an_admin_acts_for_others() -> None:
    desk = Desk()
    with pytest.raises(NotFound) as refusal:
        await desk.tasks.create(BOB, a_wish(owner="ada"))
    assert refusal.value.code == "foreign_owner"
    task = await desk.tasks.create(ROOT, a_wish(owner="ada"))
    assert task.owner == "ada"
    assert (await desk.tasks.get(ROOT, task.id)).task == task
    assert (await desk.tasks.get(ADA, task.id)).task == task


# --- each use case, told -------------------------------------------------------------------------------------------------


async def test_every_change_is_told_so_that_the_engine_looks() -> None:
    desk = Desk()
    task = await desk.tasks.create(ADA, a_wish())
    desk.told.clear()
    await desk.tasks.pause(ADA, task.id, note="holidays", until=NOON + HOUR)
    assert (await desk.tasks.resume(ADA, task.id)).status.state is TaskState.ACTIVE
    await desk.tasks.skip_next(ADA, task.id, 2)
    assert await desk.tasks.run_now(ADA, task.id) == run_id(task.id, Origin.MANUAL, NOON, 1)
    await desk.tasks.cancel(ADA, task.id)
    await desk.tasks.delete(ADA, task.id)
    assert desk.told == [None] * 6
    with pytest.raises(NotFound):
        await desk.tasks.get(ADA, task.id)


async def test_a_refused_change_tells_nobody() -> None:
    desk = Desk()
    task = await desk.tasks.create(ADA, a_wish())
    desk.told.clear()
    with pytest.raises(InvalidTask) as refusal:
        await desk.tasks.pause(ADA, task.id, until=NOON - SECOND)
    assert refusal.value.code == "until_past"
    assert desk.told == []


async def test_why_reads_the_ledger_the_agenda_and_the_schedule() -> None:
    desk = Desk()
    task = await desk.tasks.create(ADA, a_wish())
    assert (await desk.ledger.why(ADA, task.id, NOON + HOUR)).verdict is Verdict.PENDING
    assert (await desk.ledger.why(ADA, task.id, NOON + MINUTE)).verdict is Verdict.NOT_PLANNED
    desk.clock.advance(timedelta(hours=1).total_seconds())
    await desk.store.join(a_node())
    ((_, run),) = (await desk.store.claim_due(desk.clock.now(), NODE, 1, start_everything)).runs
    assert (await desk.ledger.why(ADA, task.id, NOON + HOUR)).verdict is Verdict.RUNNING
    await desk.store.settle([a_settlement(run, ended=desk.clock.now())], settle)
    answer = await desk.ledger.why(ADA, task.id, NOON + HOUR)
    assert (answer.verdict, [each.id for each in answer.runs]) == (Verdict.RAN, [run.id])
    assert (await desk.runs.get(ADA, run.id)).state is RunState.SUCCEEDED
