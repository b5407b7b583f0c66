"""The overview: counts, tasks that need attention, bulk operations, events."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from horae.errors import Conflict
from horae.model.change import Change, Facts
from horae.model.entry import EntryState
from horae.model.events.event import EventKind
from horae.model.outcome import Failed
from horae.model.task import NEW_TASK_STATUS, Pause, PauseCause, Task, TaskState, TaskStatus
from horae.ports.store import TaskFilter, WaitingCounts
from horae.service.runs.overview import NeedKind, find_needs
from horae.service.tasks.operations.bulk import BulkReport
from horae.service.tasks.task_request import Options
from horae.testing.factories import DAY, HOUR, MINUTE, NODE, NOON, SECOND, a_node, a_task, an_entry
from tests.unit.service.service_harness import ADA, BOB, ROOT, open_harness

# --- at a glance -----------------------------------------------------------------------------------------------------


async def test_overview_of_an_empty_store() -> None:
    async with open_harness() as harness:
        seen = await harness.service.overview.now(ROOT)
        assert set(seen.tasks.values()) == {0}
        assert (seen.outcomes, seen.on_time, seen.waiting, seen.needs) == ({}, None, WaitingCounts(), ())
        assert (seen.running, seen.upcoming, seen.lanes, seen.nodes) == ((), (), (), ())


async def test_engine_liveness_is_public_and_node_names_are_for_admins() -> None:
    async with open_harness() as harness:
        assert not (await harness.service.overview.now(ADA)).alive
        await harness.store.join(a_node(renewed=harness.clock.now()))
        seen = await harness.service.overview.now(ADA)
        assert (seen.alive, seen.nodes) == (True, ())
        harness.advance(HOUR)
        assert not (await harness.service.overview.now(ADA)).alive, "it has not renewed its lease for an hour"


async def test_overview_counts_the_last_day() -> None:
    async with open_harness() as harness:
        task = await harness.add(lane="press")
        await harness.add("in 30d", who=BOB)
        paused = await harness.add()
        await harness.tasks.pause(ADA, paused.id)
        await harness.run_due(HOUR)
        await harness.run_due(HOUR + 5 * SECOND)
        await harness.tasks.skip_next(ADA, task.id)
        harness.advance(HOUR - 5 * SECOND)
        await harness.claim()
        harness.advance(HOUR)
        (going,) = await harness.claim()
        seen = await harness.service.overview.now(ADA)
        assert seen.at == harness.clock.now()
        assert {state: number for state, number in seen.tasks.items() if number} == {
            TaskState.ACTIVE: 1,
            TaskState.PAUSED: 1,
        }
        assert seen.outcomes == {"succeeded": 2, "skipped:skip_requested": 1}
        assert (seen.lateness.total, seen.lateness.on_time, seen.on_time) == (2, 1, 0.5)
        assert seen.running == (going,)
        assert [facts.task for facts in seen.upcoming] == [task]
        assert (seen.lanes, seen.nodes) == ((), ()), "lanes and nodes are the operator's"
        everything = await harness.service.overview.now(ROOT)
        assert everything.tasks[TaskState.ACTIVE] == 2
        assert [lane.name for lane in everything.lanes] == ["ada/press"]
        assert [node.id for node in everything.nodes] == [NODE]


async def test_overview_makes_as_many_reads_with_many_running_tasks_as_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_harness() as harness:
        calls: list[str] = []

        def count(name: str) -> None:
            read = getattr(harness.store, name)

            async def counted(*given: object, **named: object) -> object:
                calls.append(name)
                return await read(*given, **named)

            monkeypatch.setattr(harness.store, name, counted)

        for name in ("facts", "tasks", "runs", "newest_progress", "task_names", "counts", "upcoming"):
            count(name)
        numbers: list[tuple[int, int]] = []
        for more in (1, 5):
            for _ in range(more):
                await harness.add("in 1h")
            harness.advance(HOUR)
            claimed = await harness.claim()
            calls.clear()
            seen = await harness.service.overview.now(ADA)
            assert len(claimed) == more
            assert seen.running_details.keys() == {run.id for run in seen.running}
            numbers.append((len(seen.running), len(calls)))
        (one, few_calls), (six, more_calls) = numbers
        assert (one, six) == (1, 6)
        assert few_calls == more_calls


async def test_runs_older_than_a_day_are_not_counted() -> None:
    async with open_harness() as harness:
        await harness.add("in 1h")
        await harness.run_due(HOUR)
        harness.advance(23 * HOUR)
        assert (await harness.service.overview.now(ADA)).outcomes == {"succeeded": 1}
        harness.advance(2 * HOUR)
        seen = await harness.service.overview.now(ADA)
        assert (seen.outcomes, seen.on_time, seen.tasks[TaskState.COMPLETED]) == ({}, None, 1)


async def test_waiting_tasks_are_counted_by_cause() -> None:
    async with open_harness() as harness:
        await harness.add("in 1h")
        harness.advance(HOUR)
        assert (await harness.service.overview.now(ADA)).waiting == WaitingCounts(overdue=1)
        await harness.claim(routes=frozenset())
        assert (await harness.service.overview.now(ADA)).waiting == WaitingCounts(stranded=1)


# --- what needs a person ---------------------------------------------------------------------------------------------


def facts(
    standing: TaskStatus = NEW_TASK_STATUS, *, stand: EntryState = EntryState.TIMED, lane: str | None = None
) -> Facts:
    task = a_task()
    return Facts(task, standing, (an_entry(task, state=stand, lane=lane),))


def paused(cause: PauseCause) -> TaskStatus:
    return TaskStatus(TaskState.PAUSED, pause=Pause(NOON, cause))


@pytest.mark.parametrize(
    ("given", "later", "kind"),
    [
        (facts(), timedelta(0), None),
        (facts(TaskStatus(TaskState.FAILED)), timedelta(0), NeedKind.FAILED),
        (facts(NEW_TASK_STATUS._replace(failures=1)), timedelta(0), NeedKind.FAILING),
        (facts(paused(PauseCause.ORPHANED)), timedelta(0), NeedKind.ORPHANED),
        (facts(paused(PauseCause.AWAITING_APPROVAL)), timedelta(0), NeedKind.AWAITING_APPROVAL),
        (facts(paused(PauseCause.PREDECESSOR_DELETED)), timedelta(0), NeedKind.PREDECESSOR_DELETED),
        (facts(paused(PauseCause.GATE_FAILED)), timedelta(0), NeedKind.GATE_FAILED),
        (facts(paused(PauseCause.REQUESTED)), DAY, None),
        (facts(paused(PauseCause.AGENT_STOPPED)), DAY, None),
        (facts(stand=EntryState.PARKED, lane="function:gone"), timedelta(0), NeedKind.STRANDED),
        (facts(stand=EntryState.PARKED, lane="press"), DAY, None),
        (facts(), 30 * SECOND, None),
        (facts(), 31 * SECOND, NeedKind.OVERDUE),
        (facts(stand=EntryState.HELD), DAY, None),
        (facts(NEW_TASK_STATUS._replace(failures=2), stand=EntryState.READY), HOUR, NeedKind.OVERDUE),
    ],
)
def test_attention_reasons_of_a_task(given: Facts, later: timedelta, kind: NeedKind | None) -> None:
    assert [need.kind for need in find_needs((given, given), NOON + later)] == ([] if kind is None else [kind])


async def test_failed_task_is_not_hidden_by_many_paused_ones() -> None:
    async with open_harness() as harness:
        for _ in range(30):
            task = await harness.add()
            await harness.tasks.pause(ADA, task.id)
        failing = await harness.add(options=Options(retries=0, give_up_after=1))
        orphan = await harness.add(name="orphan")
        await harness.tasks.pause(ADA, orphan.id, cause=PauseCause.ORPHANED)
        await harness.run_due(HOUR, Failed("no"))
        needs = (await harness.service.overview.now(ADA)).needs
        assert [(need.kind, need.facts.task.id) for need in needs] == [
            (NeedKind.FAILED, failing.id),
            (NeedKind.ORPHANED, orphan.id),
        ]


# --- many at once ----------------------------------------------------------------------------------------------------


async def test_bulk_operation_handles_all_matches_despite_refusals() -> None:
    async with open_harness() as harness:
        tasks = [await harness.add(labels={"room": "a" if number % 2 else "b"}) for number in range(6)]
        await harness.tasks.cancel(ADA, tasks[3].id)
        seen: list[int] = []
        report = await harness.service.bulk.each(
            ADA,
            TaskFilter(labels=(("room", "a"),)),
            lambda task: harness.tasks.pause(ADA, task.id),
            progress=seen.append,
        )
        assert (report.matched, report.done, seen) == (3, 2, [1, 2, 3])
        ((refused, refusal),) = report.refused
        assert (refused.id, refusal.code) == (tasks[3].id, "task_cancelled")
        states = [each.status.state for each in (await harness.tasks.page(ADA)).items]
        assert states == ["active", "paused", "active", "cancelled", "active", "paused"]


async def test_a_dry_run_only_counts() -> None:
    async with open_harness() as harness:
        await harness.add()
        called: list[Task] = []

        async def note(task: Task) -> None:
            called.append(task)

        report = await harness.service.bulk.each(ADA, TaskFilter(), note, dry_run=True)
        assert (report, called) == (BulkReport(1, 0), [])
        assert (await harness.service.bulk.each(ADA, TaskFilter(name="other"), note)).matched == 0
        assert (await harness.service.bulk.each(ADA, TaskFilter(), note)).done == len(called) == 1


async def test_needs_are_found_among_hundreds_of_paused_tasks() -> None:
    async with open_harness() as harness:
        tasks = [await harness.add(name=f"task {number}") for number in range(300)]
        for task in tasks:
            await harness.tasks.pause(ADA, task.id)
        for number in range(30):
            await harness.tasks.pause(ADA, tasks[250 + number].id, cause=PauseCause.ORPHANED)
        await harness.tasks.pause(ADA, tasks[299].id, cause=PauseCause.AWAITING_APPROVAL)
        for who in (ADA, ROOT):
            seen = await harness.service.overview.now(who)
            assert seen.needs_counts == {NeedKind.ORPHANED: 30, NeedKind.AWAITING_APPROVAL: 1}
            kinds = Counter(need.kind for need in seen.needs)
            assert kinds == {NeedKind.ORPHANED: 20, NeedKind.AWAITING_APPROVAL: 1}
            assert seen.needs[-1].facts.task == tasks[299]
        assert (await harness.service.overview.now(BOB)).needs == ()


async def test_more_than_a_page_of_tasks_are_all_deleted() -> None:
    async with open_harness() as harness:
        wish = (await harness.add()).name
        for _ in range(1_100):
            await harness.add()
        report = await harness.service.bulk.each(
            ADA, TaskFilter(name=wish), lambda task: harness.tasks.delete(ADA, task.id)
        )
        assert (report.matched, report.done, report.refused) == (1_101, 1_101, ())
        assert (await harness.tasks.page(ADA)).items == ()


async def test_bulk_report_stores_the_first_hundred_refusals() -> None:
    async with open_harness() as harness:
        tasks = [await harness.add() for _ in range(120)]
        for task in tasks:
            await harness.tasks.cancel(ADA, task.id)
        report = await harness.service.bulk.each(ADA, TaskFilter(), lambda task: harness.tasks.resume(ADA, task.id))
        assert (report.matched, report.done, len(report.refused)) == (120, 0, 100)
        assert [each.task for each in report.refused] == tasks[:100]


async def test_error_other_than_a_refusal_ends_the_bulk_operation() -> None:
    async with open_harness() as harness:
        await harness.add()

        async def break_down(_: Task) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await harness.service.bulk.each(ADA, TaskFilter(), break_down)


# --- events ----------------------------------------------------------------------------------------------------------


async def test_events_resume_from_a_number() -> None:
    async with open_harness() as harness:
        events = harness.service.events
        task = await harness.add()
        await harness.add(who=BOB)
        start = await events.last(ADA)
        await harness.tasks.pause(ADA, task.id)
        await harness.tasks.resume(ADA, task.id)
        assert [each.event.kind for each in await events.after(ADA, start)] == [
            EventKind.TASK_PAUSED,
            EventKind.TASK_RESUMED,
        ]
        (first,) = await events.after(ADA, 0, limit=1)
        assert first.event.kind is EventKind.TASK_CREATED
        assert len(await events.after(ADA, first.cursor)) == 2
        assert len(await events.after(BOB, 0)) == 1
        assert len(await events.after(ROOT, 0)) == 4


async def test_refused_change_writes_no_event() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.cancel(ADA, task.id)
        last = await harness.service.events.last(ADA)
        with pytest.raises(Conflict):
            await harness.tasks.pause(ADA, task.id, until=NOON + MINUTE)
        assert await harness.service.events.last(ADA) == last


async def test_failing_tasks_are_found_however_many_come_due_before_them() -> None:
    async with open_harness() as harness:
        failing = [await harness.add("every 30d") for _ in range(25)]
        for task in failing:
            await harness.store.change(task.id, None, lambda facts: Change(status=facts.status._replace(failures=2)))
        for _ in range(25):
            await harness.add("every 1h")
        seen = await harness.service.overview.now(ADA)
        shown = [need.facts.task.id for need in seen.needs if need.kind is NeedKind.FAILING]
        assert shown == [task.id for task in failing[:20]]
        assert seen.needs_counts == {NeedKind.FAILING: 25}
        assert (await harness.service.overview.now(BOB)).needs_counts == {}
        harness.advance(HOUR + MINUTE)
        overdue = await harness.service.overview.now(ADA)
        assert overdue.needs_counts == {NeedKind.FAILING: 25, NeedKind.OVERDUE: 20}


async def test_paused_tasks_do_not_hide_failing_ones() -> None:
    orphaned = [_facts(TaskStatus(TaskState.PAUSED, pause=Pause(NOON, PauseCause.ORPHANED))) for _ in range(70)]
    found = find_needs((*orphaned, _facts(TaskStatus(failures=1))), NOON)
    assert [need.kind for need in found] == [NeedKind.ORPHANED] * 20 + [NeedKind.FAILING]


def _facts(status: TaskStatus) -> Facts:
    return Facts(a_task(), status)
