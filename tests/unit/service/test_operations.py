"""Operations: progress, visibility, end, and one per owner at a time; in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import pytest

from horae.errors import StoreUnavailable
from horae.model.accounts.operation import (
    HEARTBEAT_TIMEOUT,
    MAX_REFUSALS,
    OPERATION_RETENTION,
    Operation,
    OperationState,
)
from horae.model.accounts.principal import Principal, Scope
from horae.model.task import Task
from horae.ports.store import TaskFilter
from horae.service.tasks.operations.bulk import Action
from horae.service.tasks.operations.operations import OperationRequest, Operations
from horae.virtual_time import VirtualClock
from tests.unit.service.service_harness import ADA, BOB, CHIEF, ROOT, ServiceHarness, code_of

PAUSE: Final = OperationRequest("pause", {"q": "water"}, {"note": "rain"})
RUN: Final = OperationRequest("run", {}, {})
ALL: Final = TaskFilter()
ROBOT: Final = Principal("ada", agent="robot")
ABSENT: Final = "opn_" + "0" * 32


@asynccontextmanager
async def operations_harness(clock: VirtualClock) -> AsyncIterator[ServiceHarness]:
    harness = ServiceHarness(clock=clock)
    try:
        yield harness
    finally:
        await harness.service.operations.close()


async def nothing(_task: Task) -> None: ...


def pausing(harness: ServiceHarness, who: Principal = ADA) -> Action:
    return lambda task: harness.tasks.pause(who, task.id)


def elsewhere(harness: ServiceHarness) -> Operations:
    """Another process on the same store."""
    return Operations(harness.store, harness.tasks, harness.service.audit, harness.clock)


async def ended(harness: ServiceHarness, operation: Operation, who: Principal = ADA) -> Operation:
    async with asyncio.timeout(60):
        while (found := await harness.service.operations.get(who, operation.id)).state is OperationState.RUNNING:
            await harness.clock.pause(0.1)
    return found


class TaskGate:
    """Holds a task up, and tells when one has arrived."""

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        self.opened = asyncio.Event()
        self.passed: list[str] = []

    async def __call__(self, task: Task) -> None:
        self.arrived.set()
        await self.opened.wait()
        self.passed.append(task.name)


async def garden(harness: ServiceHarness, number: int = 3) -> list[Task]:
    return [await harness.add(name=f"water {each}") for each in range(number)]


async def test_operation_handles_every_task_and_reports_it(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        tasks = await garden(harness)
        await harness.tasks.cancel(ADA, tasks[1].id)
        begun = await harness.service.operations.begin(ADA, PAUSE, ALL, pausing(harness))
        assert (begun.state, begun.total, begun.done) == ("running", None, 0)
        assert (begun.action, begun.filter, begun.arguments) == PAUSE
        over = await ended(harness, begun)
        assert (over.state, over.total, over.done, over.refused) == ("finished", 3, 2, 1)
        (refusal,) = over.refusals
        assert (refusal.task_id, refusal.task) == (tasks[1].id, "water 1")
        assert refusal.en != refusal.zh
        assert over.ended == over.updated
        assert (over.problem, over.cancelling) == (None, False)
        states = [(await harness.tasks.get(ADA, each.id)).status.state for each in tasks]
        assert states == ["paused", "cancelled", "paused"]


async def test_first_refusals_are_stored_and_all_are_counted(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        for each in await garden(harness, MAX_REFUSALS + 5):
            await harness.tasks.cancel(ADA, each.id)
        over = await ended(harness, await harness.service.operations.begin(ADA, PAUSE, ALL, pausing(harness)))
        assert (over.done, over.refused, len(over.refusals)) == (0, MAX_REFUSALS + 5, MAX_REFUSALS)


async def test_progress_is_reported_during_the_operation(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        await garden(harness)
        gate = TaskGate()

        async def slowly(task: Task) -> None:
            if task.name == "water 2":
                await gate(task)

        begun = await harness.service.operations.begin(ADA, PAUSE, ALL, slowly)
        await gate.arrived.wait()
        await harness.clock.pause(3)
        seen = await harness.service.operations.get(ADA, begun.id)
        assert (seen.state, seen.total, seen.done) == ("running", 3, 2)
        assert harness.clock.now() - seen.updated <= timedelta(seconds=1)
        await harness.clock.pause(10 * HEARTBEAT_TIMEOUT.total_seconds())
        assert (await elsewhere(harness).get(ADA, begun.id)).state == "running", "it lives, however long one task takes"
        gate.opened.set()
        assert (await ended(harness, begun)).done == 3


async def test_one_operation_per_owner_at_a_time(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        await garden(harness)
        await harness.add(who=BOB)
        gate, operations = TaskGate(), harness.service.operations
        first = await operations.begin(ADA, PAUSE, ALL, gate)
        await gate.arrived.wait()
        for place in (operations, elsewhere(harness)):
            assert await code_of(place.begin(ADA, PAUSE, ALL, nothing)) == "operation_going"
            assert await code_of(place.begin(ROBOT, PAUSE, ALL, nothing)) == "operation_going", "a guest of hers"
        assert (await ended(harness, await operations.begin(BOB, PAUSE, ALL, nothing), BOB)).done == 1
        gate.opened.set()
        await ended(harness, first)
        second = await operations.begin(ADA, PAUSE, ALL, nothing)
        assert (await ended(harness, second)).state == "finished"
        assert [each.id for each in (await operations.page(ADA)).items] == [second.id, first.id]


async def test_one_of_two_concurrent_operations_starts(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        await garden(harness)
        gate = TaskGate()
        begun = await asyncio.gather(
            *(place.begin(ADA, PAUSE, ALL, gate) for place in (harness.service.operations, elsewhere(harness)) * 3),
            return_exceptions=True,
        )
        gate.opened.set()
        (only,) = [each for each in begun if isinstance(each, Operation)]
        assert (await ended(harness, only)).state == "finished"
        assert len(gate.passed) == 3


@pytest.mark.parametrize("here", [True, False])
async def test_cancelled_operation_ends_after_the_current_task(clock: VirtualClock, *, here: bool) -> None:
    async with operations_harness(clock) as harness:
        await garden(harness)
        gate = TaskGate()
        begun = await harness.service.operations.begin(ADA, PAUSE, ALL, gate)
        await gate.arrived.wait()
        asked = await (harness.service.operations if here else elsewhere(harness)).cancel(ADA, begun.id)
        assert (asked.state, asked.cancelling) == ("running", True)
        await harness.clock.pause(2)
        gate.opened.set()
        over = await ended(harness, begun)
        assert (over.state, over.total, over.done) == ("cancelled", 3, 1)
        assert gate.passed == ["water 0"]
        assert await code_of(harness.service.operations.cancel(ADA, begun.id)) == "operation_over"


async def test_stopping_server_ends_the_current_task_and_marks_the_operation_interrupted(
    clock: VirtualClock,
) -> None:
    async with operations_harness(clock) as harness:
        await garden(harness)
        gate, operations = TaskGate(), harness.service.operations
        begun = await operations.begin(ADA, PAUSE, ALL, gate)
        await gate.arrived.wait()
        closing = asyncio.ensure_future(operations.close())
        await harness.clock.pause(1)
        gate.opened.set()
        await closing
        over = await elsewhere(harness).get(ADA, begun.id)
        assert (over.state, over.done, over.problem) == ("interrupted", 1, None)
        assert gate.passed == ["water 0"]
        assert (await elsewhere(harness).begin(ADA, PAUSE, ALL, nothing)).state == "running"


async def test_hanging_task_does_not_block_the_stop_of_a_server(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        await garden(harness)
        gate, operations = TaskGate(), harness.service.operations
        begun = await operations.begin(ADA, PAUSE, ALL, gate)
        await gate.arrived.wait()
        async with asyncio.timeout(10):
            await operations.close()
        assert (await operations.get(ADA, begun.id)).state == "interrupted"


async def test_operation_without_progress_is_interrupted_and_its_owner_may_start_another(clock: VirtualClock) -> None:
    """As after a killed process, which wrote no end."""

    async with operations_harness(clock) as harness:
        await garden(harness)
        dead = Operations(_StoreWithoutProgress(harness.store), harness.tasks, harness.service.audit, harness.clock)  # type: ignore[arg-type]
        gate = TaskGate()
        begun = await dead.begin(ADA, PAUSE, ALL, gate)
        operations = harness.service.operations
        await harness.clock.pause(HEARTBEAT_TIMEOUT.total_seconds())
        assert (await operations.get(ADA, begun.id)).state == "running"
        assert await code_of(operations.begin(ADA, PAUSE, ALL, nothing)) == "operation_going"
        await harness.clock.pause(1)
        over = await operations.get(ADA, begun.id)
        assert (over.state, over.ended) == ("interrupted", begun.updated)
        assert (await operations.page(ADA)).items == (over,)
        assert await code_of(operations.cancel(ADA, begun.id)) == "operation_over"
        assert (await ended(harness, await operations.begin(ADA, PAUSE, ALL, nothing))).done == 3
        await dead.close()


class _StoreWithoutProgress:
    """A store that keeps what is begun, and nothing of how it goes on."""

    def __init__(self, store: object) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def put_record(self, *_: object, **__: object) -> bool:
        raise StoreUnavailable("gone")


async def test_operation_stops_when_its_caller_loses_the_right(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        await garden(harness)
        gate = TaskGate()
        answers = [True, False]

        async def allowed() -> bool:
            return answers.pop(0)

        begun = await harness.service.operations.begin(ADA, PAUSE, ALL, gate, allowed)
        await harness.clock.pause(2.5)
        gate.opened.set()
        over = await ended(harness, begun)
        assert (over.state, over.problem, over.done) == ("interrupted", "revoked", 1)


@pytest.mark.parametrize(
    ("error", "problem"), [(StoreUnavailable("away"), "store_error"), (KeyError(), "internal_error")]
)
async def test_operation_that_raises_is_reported_as_failed(
    clock: VirtualClock, error: Exception, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with operations_harness(clock) as harness:
        await garden(harness)

        async def breaking(task: Task) -> None:
            if task.name == "water 1":
                raise error

        over = await ended(harness, await harness.service.operations.begin(ADA, PAUSE, ALL, breaking))
        assert (over.state, over.problem, over.done) == ("interrupted", problem, 1)
        assert over.id in caplog.text


async def test_operations_beyond_the_limit_are_queued(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        people = [Principal(f"owner{number}") for number in range(6)]
        gate, operations = TaskGate(), harness.service.operations
        for who in people:
            await harness.add(who=who, name=who.owner)
        begun = [await operations.begin(who, PAUSE, ALL, gate) for who in people]
        await harness.clock.pause(2)
        waiting = [await operations.get(ROOT, each.id) for each in begun]
        assert [each.total for each in waiting] == [1, 1, 1, 1, None, None]
        gate.opened.set()
        over = [await ended(harness, each, ROOT) for each in begun]
        assert [each.done for each in over] == [1] * 6


async def pages_of_an_agent(harness: ServiceHarness) -> None:
    """Operations of the agent lie between those of its owner: each page is full, and the last one ends the list."""
    await garden(harness)
    operations, own = harness.service.operations, list[str]()
    for who in (ROBOT, ADA, ADA, ROBOT, ADA, ADA, ADA, ROBOT, ADA, ROBOT, ADA):
        begun = await operations.begin(who, PAUSE, ALL, nothing)
        await ended(harness, begun, who)
        await harness.clock.pause(1)
        if who is ROBOT:
            own.insert(0, begun.id)
    for limit in (1, 2, 3, 4, 100):
        found, sizes, after = list[str](), list[int](), None
        while True:
            page = await operations.page(ROBOT, after, limit)
            found += [each.id for each in page.items]
            sizes.append(len(page.items))
            after = page.after
            if after is None:
                break
        assert found == own
        assert all(size == limit for size in sizes[:-1]), (limit, sizes)


async def test_pages_of_an_agents_operations_are_full_and_complete(clock: VirtualClock) -> None:
    async with operations_harness(clock) as here:
        await pages_of_an_agent(here)


async def test_operations_of_another_owner_are_absent(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        await garden(harness)
        gate, operations = TaskGate(), harness.service.operations
        begun = await operations.begin(ADA, PAUSE, ALL, gate)
        for who in (BOB, ROBOT):
            assert (await operations.page(who)).items == ()
            for ask in (operations.get, operations.cancel):
                for name in (begun.id, ABSENT, "", "\N{BELL}", "x" * 1000):
                    assert await code_of(ask(who, name)) == "no_such_operation"
        assert [each.id for each in (await operations.page(ROOT)).items] == [begun.id]
        assert (await operations.cancel(ROOT, begun.id)).cancelling
        gate.opened.set()
        await ended(harness, begun)
        its = await operations.begin(ROBOT, PAUSE, ALL, nothing)
        assert (await ended(harness, its, ROBOT)).total == 0, "a guest has none of these"
        assert [each.id for each in (await operations.page(ROBOT)).items] == [its.id]
        assert len((await operations.page(ADA)).items) == 2, "its owner sees what it does"


async def test_right_to_start_an_operation_includes_cancelling_it(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        operations = harness.service.operations
        rights = {"viewer": {Scope.READ}, "writer": {Scope.READ, Scope.WRITE}, "runner": {Scope.READ, Scope.RUN}}
        people = {name: Principal("ada", scopes=frozenset(scopes)) for name, scopes in rights.items()}
        for order, may in ((PAUSE, "writer"), (RUN, "runner")):
            for name, who in people.items():
                if name != may:
                    assert await code_of(operations.begin(who, order, ALL, nothing)) == "not_allowed"
            gate = TaskGate()
            await garden(harness, 1)
            begun = await operations.begin(people[may], order, ALL, gate)
            for name, who in people.items():
                if name != may:
                    assert await code_of(operations.cancel(who, begun.id)) == "not_allowed"
                assert (await operations.get(who, begun.id)).id == begun.id
            assert (await operations.cancel(people[may], begun.id)).cancelling
            gate.opened.set()
            await ended(harness, begun)
        assert await code_of(operations.get(Principal("ada", scopes=frozenset()), ABSENT)) == "not_allowed"


async def test_start_and_cancel_of_an_operation_are_audited(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        gate, operations = TaskGate(), harness.service.operations
        await garden(harness, 2)
        begun = await operations.begin(CHIEF, PAUSE, ALL, gate)
        await gate.arrived.wait()
        await operations.cancel(CHIEF, begun.id)
        rows = (await harness.service.audit.page(CHIEF)).items
        assert [(row.action, row.subject) for row in rows] == [
            ("operation.cancel", begun.id),
            ("operation.begin", begun.id),
        ]


async def test_operations_expire_after_a_week(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        over = await ended(harness, await harness.service.operations.begin(ADA, PAUSE, ALL, nothing))
        await harness.store.drop_expired(harness.clock.now() + OPERATION_RETENTION - timedelta(minutes=1), 100)
        assert (await harness.service.operations.get(ADA, over.id)).state == "finished"
        assert (
            await harness.store.drop_expired(harness.clock.now() + OPERATION_RETENTION + timedelta(minutes=1), 100) == 2
        )
        assert await code_of(harness.service.operations.get(ADA, over.id)) == "no_such_operation"
        assert (await harness.service.operations.begin(ADA, PAUSE, ALL, nothing)).state == "running"


async def test_operation_pages_resume_from_the_cursor(clock: VirtualClock) -> None:
    async with operations_harness(clock) as harness:
        operations = harness.service.operations
        made = []
        for _ in range(3):
            made.append((await ended(harness, await operations.begin(ADA, PAUSE, ALL, nothing))).id)
            await harness.clock.pause(1)
        first = await operations.page(ADA, limit=2)
        rest = await operations.page(ADA, first.after, 2)
        assert [each.id for each in (*first.items, *rest.items)] == made[::-1]
        assert await code_of(operations.page(ADA, limit=0)) == "bad_page"


async def test_process_taken_for_dead_does_not_resume_its_operation(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner saw it interrupted and may have started another one."""

    async with operations_harness(clock) as harness:
        await garden(harness, 20)
        passed: list[str] = []

        async def slowly(task: Task) -> None:
            passed.append(task.name)
            await harness.clock.pause(2)

        first = await harness.service.operations.begin(ADA, PAUSE, ALL, slowly)
        answers, put = asyncio.Event(), harness.store.put_record

        async def held(*given: Any, **named: Any) -> bool:
            await answers.wait()
            return await put(*given, **named)

        monkeypatch.setattr(harness.store, "put_record", held)
        await harness.clock.pause(HEARTBEAT_TIMEOUT.total_seconds() + 1)
        there = elsewhere(harness)
        assert (await there.get(ADA, first.id)).state is OperationState.INTERRUPTED
        seen = len(passed)
        second = await there.begin(ADA, RUN, ALL, nothing)
        answers.set()
        await harness.clock.pause(10)
        assert len(passed) == seen < 20
        assert (await there.get(ADA, first.id)).state is OperationState.INTERRUPTED
        assert (await ended(harness, second)).state is OperationState.FINISHED
        await there.close()
