"""Task operations: create, declare, bulk add, owner isolation, notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest

from horae.errors import Conflict, InvalidSchedule, InvalidTask, NotAllowed, NotFound, StoreError
from horae.lifecycle.explain.explanation import Verdict
from horae.lifecycle.settle import settle
from horae.model.accounts.principal import Principal
from horae.model.ids import run_id
from horae.model.limits import BULK_TASKS
from horae.model.reason import Reason
from horae.model.run import Origin, RunState
from horae.model.task import Target, Task, TaskPast, TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.schedule import Every, Once
from horae.service.runs.explanations import Explanations
from horae.service.runs.runs import Runs
from horae.service.tasks.task_request import Options, TaskRequest
from horae.service.tasks.tasks import Tasks
from horae.stores.memory import MemoryStore
from horae.testing.decisions import start_everything
from horae.testing.factories import HOUR, MINUTE, NODE, NOON, SECOND, a_node, a_settlement
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import FaultyStore, as_store
from tests.unit.service.service_harness import CHIEF, open_harness

ADA = Principal("ada")
BOB = Principal("bob")
ROOT = Principal("root", admin=True)
TARGET = Target("function", '{"name":"garden.water"}')


def return_task(task: Task) -> Task:
    return task


def make_request(when: object = "every 1h", **fields: object) -> TaskRequest:
    return TaskRequest("water the plants", when, TARGET, zone="UTC")._replace(**fields)  # type: ignore[arg-type]


class TaskSetup:
    """The service on a store in memory, and all that it told."""

    def __init__(self, store: object | None = None) -> None:
        self.store = as_store(MemoryStore() if store is None else store)
        self.clock = VirtualClock(NOON)
        self.told: list[datetime | None] = []
        self.tasks = Tasks(self.store, self.clock, "Europe/Berlin", self.told.append)
        self.explanations = Explanations(self.store, self.clock)
        self.runs = Runs(self.store, self.store, self.clock)

    async def all(self) -> list[Task]:
        return [facts.task for facts in (await self.store.tasks(TaskFilter(), limit=1_000)).items]


async def test_created_task_notifies_its_first_instant() -> None:
    desk = TaskSetup()
    task = await desk.tasks.create(ADA, make_request())
    assert (task.owner, task.schedule, task.created) == ("ada", Every(interval=HOUR, zone="UTC"), NOON)
    assert desk.told == [NOON + HOUR]
    assert (await desk.tasks.get(ADA, task.id)).entries[0].planned == NOON + HOUR


async def test_zone_is_that_of_the_request_or_the_service() -> None:
    desk = TaskSetup()
    named = await desk.tasks.create(ADA, make_request("0 9 * * *", zone="Asia/Tokyo"))
    silent = await desk.tasks.create(ADA, make_request("0 9 * * *", zone=None))
    assert (named.schedule.zone, silent.schedule.zone) == ("Asia/Tokyo", "Europe/Berlin")


# --- declared: by a natural key ------------------------------------------------------------------------------------------


async def test_repeated_declaration_changes_nothing() -> None:
    desk = TaskSetup()
    first = await desk.tasks.create(ADA, make_request(key="garden"))
    events = await desk.store.last_event()
    desk.clock.advance(600)
    assert await desk.tasks.create(ADA, make_request(key="garden")) == first
    assert await desk.tasks.declare(ADA, make_request(key="garden")) == first
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
async def test_changed_declaration_edits_the_task(different: dict[str, object]) -> None:
    desk = TaskSetup()
    first = await desk.tasks.create(ADA, make_request(key="garden"))
    desk.clock.advance(600)
    second = await desk.tasks.create(ADA, make_request(key="garden", **different))
    assert (second.id, second.created, second.version) == (first.id, first.created, 2)
    assert second != first._replace(version=2)
    assert await desk.tasks.create(ADA, make_request(key="garden", **different)) == second


async def test_new_schedule_notifies_its_first_instant() -> None:
    desk = TaskSetup()
    await desk.tasks.create(ADA, make_request(key="garden"))
    await desk.tasks.create(ADA, make_request("every 5m", key="garden"))
    assert desk.told == [NOON + HOUR, NOON + 5 * MINUTE]


async def test_the_same_key_of_two_owners_is_two_tasks() -> None:
    desk = TaskSetup()
    hers = await desk.tasks.create(ADA, make_request(key="garden"))
    his = await desk.tasks.create(BOB, make_request(key="garden"))
    assert hers.id != his.id


async def test_concurrent_declarations_create_one_task() -> None:
    desk = TaskSetup()
    made = await asyncio.gather(*(desk.tasks.declare(ADA, make_request(key="garden")) for _ in range(5)))
    assert len({task.id for task in made}) == 1
    assert len(await desk.all()) == 1


async def test_declaring_a_cancelled_task_is_refused() -> None:
    desk = TaskSetup()
    task = await desk.tasks.declare(ADA, make_request(key="garden"))
    await desk.tasks.cancel(ADA, task.id)
    assert await desk.tasks.declare(ADA, make_request(key="garden")) == task
    with pytest.raises(Conflict) as refusal:
        await desk.tasks.declare(ADA, make_request("every 2h", key="garden"))
    assert refusal.value.code == "key_of_cancelled"


async def test_declaration_needs_a_key() -> None:
    desk = TaskSetup()
    with pytest.raises(InvalidTask) as refusal:
        await desk.tasks.declare(ADA, make_request())
    assert refusal.value.code == "bad_text"


# --- many at once --------------------------------------------------------------------------------------------------------


async def test_bulk_add_notifies_once_with_the_earliest_instant() -> None:
    desk = TaskSetup()
    wishes = [make_request(f"in {minutes}m") for minutes in (30, 10, 20)]
    made = await desk.tasks.create_many(ADA, wishes, return_task)
    assert [task.schedule for task in made] == [
        Once(at=NOON + minutes * MINUTE, zone="UTC") for minutes in (30, 10, 20)
    ]
    assert {task.id for task in made} == {task.id for task in await desk.all()}
    assert desk.told == [NOON + 10 * MINUTE]


async def test_empty_bulk_add_notifies_nothing() -> None:
    desk = TaskSetup()
    assert await desk.tasks.create_many(ADA, [], return_task) == []
    assert desk.told == []


async def test_bulk_add_writes_in_chunks_of_a_thousand() -> None:
    store = FaultyStore()
    desk = TaskSetup(store)
    made = await desk.tasks.create_many(ADA, [make_request()] * (2 * BULK_TASKS + 1), return_task)
    assert len({task.id for task in made}) == 2 * BULK_TASKS + 1
    assert [len(changes) for (changes,) in store.arguments("add")] == [BULK_TASKS, BULK_TASKS, 1]


@pytest.mark.parametrize("place", [0, 999, 1_500, 2_200])
async def test_bulk_add_with_an_invalid_request_writes_nothing(place: int) -> None:
    desk = TaskSetup()
    wishes = [make_request()] * 2_201
    wishes[place] = make_request("at some point")
    with pytest.raises(InvalidSchedule) as refusal:
        await desk.tasks.create_many(ADA, wishes, return_task)
    assert refusal.value.__notes__ == [f"This was number {place + 1}; nothing was written."]
    assert await desk.all() == []
    assert desk.told == []


async def test_taken_key_rolls_back_its_chunk() -> None:
    desk = TaskSetup()
    await desk.tasks.create(ADA, make_request(key="garden"))
    with pytest.raises(Conflict) as refusal:
        await desk.tasks.create_many(ADA, [make_request(), make_request(key="garden")], return_task)
    assert refusal.value.code == "key_taken"
    assert len(await desk.all()) == 1


async def test_failure_in_the_second_chunk_keeps_and_notifies_the_first() -> None:
    store = FaultyStore()
    desk = TaskSetup(store)
    add, calls = store.inner.add, []  # type: ignore[attr-defined]

    async def fails_the_second_time(changes: object) -> None:
        calls.append(changes)
        if len(calls) == 2:
            raise StoreError("full")
        await add(changes)

    store.inner.add = fails_the_second_time  # type: ignore[attr-defined]
    with pytest.raises(StoreError):
        await desk.tasks.create_many(ADA, [make_request()] * (BULK_TASKS + 1), return_task)
    assert len(await desk.all()) == BULK_TASKS
    assert desk.told == [NOON + HOUR]


# --- who may -------------------------------------------------------------------------------------------------------------


async def test_foreign_task_answers_like_an_absent_one() -> None:
    desk = TaskSetup()
    task = await desk.tasks.create(ADA, make_request())
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
        lambda each: desk.explanations.why(BOB, each, NOON),
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


async def test_foreign_run_answers_like_an_absent_one() -> None:
    desk = TaskSetup()
    await desk.tasks.create(ADA, make_request("now"))
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
    desk = TaskSetup()
    with pytest.raises(NotFound) as refusal:
        await desk.tasks.create(BOB, make_request(owner="ada"))
    assert refusal.value.code == "foreign_owner"
    task = await desk.tasks.create(ROOT, make_request(owner="ada"))
    assert task.owner == "ada"
    assert (await desk.tasks.get(ROOT, task.id)).task == task
    assert (await desk.tasks.get(ADA, task.id)).task == task


# --- each use case, told -------------------------------------------------------------------------------------------------


async def test_every_change_notifies_the_engine() -> None:
    desk = TaskSetup()
    task = await desk.tasks.create(ADA, make_request())
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


async def test_refused_change_notifies_nothing() -> None:
    desk = TaskSetup()
    task = await desk.tasks.create(ADA, make_request())
    desk.told.clear()
    with pytest.raises(InvalidTask) as refusal:
        await desk.tasks.pause(ADA, task.id, until=NOON - SECOND)
    assert refusal.value.code == "until_past"
    assert desk.told == []


async def test_why_reads_the_ledger_the_agenda_and_the_schedule() -> None:
    desk = TaskSetup()
    task = await desk.tasks.create(ADA, make_request())
    assert (await desk.explanations.why(ADA, task.id, NOON + HOUR)).verdict is Verdict.PENDING
    assert (await desk.explanations.why(ADA, task.id, NOON + MINUTE)).verdict is Verdict.NOT_PLANNED
    desk.clock.advance(timedelta(hours=1).total_seconds())
    await desk.store.join(a_node())
    ((_, run),) = (await desk.store.claim_due(desk.clock.now(), NODE, 1, start_everything)).runs
    assert (await desk.explanations.why(ADA, task.id, NOON + HOUR)).verdict is Verdict.RUNNING
    await desk.store.settle([a_settlement(run, ended=desk.clock.now())], settle)
    answer = await desk.explanations.why(ADA, task.id, NOON + HOUR)
    assert (answer.verdict, [each.id for each in answer.runs]) == (Verdict.RAN, [run.id])
    assert (await desk.runs.get(ADA, run.id)).state is RunState.SUCCEEDED


# --- tasks that bring their past along ---------------------------------------------------------------------------------


@pytest.mark.parametrize("principal", [ADA, Principal("root", admin=True, agent="robot")])
async def test_past_of_a_task_is_refused_to_others_than_admins(principal: Principal) -> None:
    async with open_harness() as harness:
        request = TaskRequest("x", "every 1h", TARGET, zone="UTC", past=TaskPast(created=NOON - HOUR))
        with pytest.raises(NotAllowed) as refusal:
            await harness.tasks.create(principal, request)
        assert refusal.value.code == "past_not_allowed"


@pytest.mark.parametrize(("principal", "trusted"), [(CHIEF, False), (ADA, True)])
async def test_admins_imports_and_plans_bring_the_past_of_a_task(principal: Principal, trusted: bool) -> None:  # noqa: FBT001
    async with open_harness() as harness:
        past = TaskPast(NOON - 5 * HOUR, 2, NOON - 3 * HOUR, NOON - 2.5 * HOUR)
        request = TaskRequest("x", "every 1h 9 times", TARGET, zone="UTC", past=past, trusted_past=trusted)
        task = await harness.tasks.create(principal, request)
        facts = await harness.store.facts(task.id, None)
        assert facts is not None
        assert (facts.task.created, facts.status.counted, facts.status.last_end) == past[:3]
        (run,) = await harness.claim()
        assert run.planned == NOON
        rows = await harness.store.runs(RunFilter(task_id=task.id))
        assert [(row.reason, row.span and row.span.count) for row in rows.items] == [(None, None), (Reason.MERGED, 2)]


async def test_past_counts_only_when_the_task_is_made() -> None:
    async with open_harness() as harness:
        request = TaskRequest("x", "every 1h", TARGET, zone="UTC", key="k")
        before = await harness.tasks.declare(CHIEF, request)
        after = await harness.tasks.declare(CHIEF, request._replace(past=TaskPast(created=NOON - HOUR)))
        assert before == after
