"""Contract of run deduplication: a run id that exists is not inserted again; the rest of the change is written."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from .....model.change import Change, Facts
from .....model.entry import Entry
from .....model.events.event import Event, EventKind
from .....model.outcome import Settlement
from .....model.reason import Reason
from .....model.run import Run, RunState
from .....model.task import Task, TaskState, TaskStatus
from .....ports.full_store import FullStore
from ....decisions import always, lose, start_everything, succeed
from ....factories import (
    HOUR,
    NODE,
    NOON,
    SECOND,
    a_new_task,
    a_node,
    a_run,
    a_settlement,
    a_task,
    an_ended_run,
    an_entry,
)
from ..contract import Contract
from ..setup import claim_all, get_facts, get_run, start_run

_COMPLETED = TaskStatus(TaskState.COMPLETED, ended=NOON)


def _skipped(task: Task, **fields: object) -> Run:
    row = an_ended_run(task, state=RunState.SKIPPED, reason=Reason.CANCELLED, node=None, started=None, token=0)
    return row._replace(claimed=None, ended=NOON + HOUR)._replace(**fields)  # type: ignore[arg-type]


def _events_of(*runs: Run, kind: EventKind = EventKind.RUN_SKIPPED) -> tuple[Event, ...]:
    return tuple(Event(kind, NOON, run.owner, run.task_id, run.id) for run in runs)


async def _events_since(store: FullStore, number: int) -> list[Event]:
    return [numbered.event for numbered in await store.events(number)]


class RunDeduplicationContract(Contract):
    async def test_an_existing_attempt_is_not_started_again(self, store: FullStore) -> None:
        """An entry may come due twice for one instant, for example after a clock step."""
        task = a_task()
        run = an_ended_run(task)
        await store.add([a_new_task(task, runs=[run]), a_new_task(other := a_task())])
        await store.join(a_node())
        last_event = await store.last_event()
        claimed = await claim_all(store)
        assert [each.task.id for each in claimed] == [other.id]
        assert await store.run(run.id, None) == run
        facts = await get_facts(store, task)
        assert (facts.live, facts.entries) == ((), ())
        assert [event.task_id for event in await _events_since(store, last_event)] == [other.id]

    async def test_a_claim_decision_receives_the_ids_of_existing_runs(self, store: FullStore) -> None:
        """The decision can then set the status of a task for which nothing starts."""
        task = a_task()
        run = an_ended_run(task)
        await store.add([a_new_task(task, runs=[run]), a_new_task(a_task())])
        await store.join(a_node())
        existing: list[frozenset[str]] = []

        def decide(facts: Facts, entry: Entry, token: int) -> Change:
            if facts.task.id == task.id:
                existing.append(facts.existing_run_ids)
            change = start_everything(facts, entry, token)
            return change._replace(new_runs=(), status=_COMPLETED, events=()) if facts.existing_run_ids else change

        (claimed,) = await claim_all(store, decide=decide)
        assert claimed.task.id != task.id
        assert existing[-1] == {run.id}
        assert (await get_facts(store, task)).status == _COMPLETED
        assert await get_run(store, run) == run
        assert await store.check() == ()

    async def test_a_change_that_repeats_a_run_is_applied_without_it(self, store: FullStore) -> None:
        """After a clock step back, a cancel would write skip rows that exist already."""
        task = a_task()
        run, fresh = an_ended_run(task), _skipped(task, id="other", planned=NOON + HOUR)
        await store.add([a_new_task(task, runs=[run])])
        last_event = await store.last_event()
        cancelled = Event(EventKind.TASK_CANCELLED, NOON, task.owner, task.id)
        change = Change(
            task=task._replace(name="renamed"),
            new_runs=(_skipped(task), fresh),
            put=(later := an_entry(task, due=NOON + HOUR),),
            events=(*_events_of(_skipped(task), fresh), cancelled),
        )
        after = await store.change(task.id, None, always(change))
        assert after is not None
        assert (after.task.name, after.entries, after.live) == ("renamed", (later,), ())
        assert await store.run(run.id, None) == run
        assert await store.run(fresh.id, None) == fresh
        assert await _events_since(store, last_event) == [*_events_of(fresh), cancelled]
        assert await store.check() == ()

    async def test_a_live_run_is_not_inserted_again_and_keeps_its_lane_slot(self, store: FullStore) -> None:
        run = await start_run(store, task := a_task(lane="press"))
        last_event = await store.last_event()
        again = run._replace(token=run.token + 1, node="other")
        change = Change(new_runs=(again,), events=_events_of(again, kind=EventKind.RUN_STARTED))
        after = await store.change(task.id, None, always(change))
        assert after is not None
        assert after.live == (run,)
        assert [(lane.name, lane.used) for lane in after.lanes] == [("press", 1)]
        assert await _events_since(store, last_event) == []

    async def test_the_end_event_of_a_repeated_run_is_written(self, store: FullStore) -> None:
        run = await start_run(store, task := a_task())
        last_event = await store.last_event()
        ended = run._replace(state=RunState.CANCELLED, reason=Reason.CANCELLED, ended=NOON + SECOND)
        end = _events_of(ended, kind=EventKind.RUN_CANCELLED)
        change = Change(new_runs=(_skipped(task),), updated_runs=(ended,), events=(*_events_of(_skipped(task)), *end))
        await store.change(task.id, None, always(change))
        assert await get_run(store, run) == ended
        assert await _events_since(store, last_event) == list(end)

    async def test_a_run_repeated_within_one_change_is_written_once(self, store: FullStore) -> None:
        task = a_task()
        await store.add([a_new_task(task)])
        last_event = await store.last_event()
        row = _skipped(task)
        change = Change(new_runs=(row, row._replace(reason=Reason.OVERLAP)), events=_events_of(row, row))
        await store.change(task.id, None, always(change))
        assert await get_run(store, row) == row
        assert await _events_since(store, last_event) == list(_events_of(row))

    async def test_a_settlement_that_repeats_a_run_is_applied(self, store: FullStore) -> None:
        run = await start_run(store)
        other = a_task()
        await store.add([a_new_task(other, runs=[a_run(other, planned=NOON + HOUR, token=run.token)])])
        row = _skipped(await _task_of(store, run), id="row")

        def decide(facts: Facts, run: Run, report: Settlement) -> Change:
            change = succeed(facts, run, report)
            same = row._replace(task_id=run.task_id, planned=NOON + 2 * HOUR)
            return change._replace(new_runs=(same,), events=(*_events_of(same), *change.events))

        live = (await get_facts(store, other)).live
        last_event = await store.last_event()
        assert await store.settle([a_settlement(each) for each in (run, *live)], decide) == frozenset()
        kinds = [event.kind for event in await _events_since(store, last_event)]
        assert kinds == [EventKind.RUN_SKIPPED, EventKind.RUN_SUCCEEDED, EventKind.RUN_SUCCEEDED]
        assert (await get_run(store, run)).state is RunState.SUCCEEDED
        assert (await get_run(store, row)).task_id == run.task_id

    async def test_a_recovery_that_repeats_a_run_is_applied(self, store: FullStore) -> None:
        run = await start_run(store, task := a_task())
        row = _skipped(task, id="row", planned=NOON + HOUR)
        await store.change(task.id, None, always(Change(new_runs=(row,))))

        def decide(facts: Facts, run: Run) -> Change:
            again = row._replace(reason=Reason.OVERLAP)
            return lose(facts, run)._replace(new_runs=(again,), events=_events_of(again))

        last_event = await store.last_event()
        assert await store.recover(NODE, 0, decide, 10) == 1
        assert (await get_run(store, run)).state is RunState.LOST
        assert await get_run(store, row) == row
        assert await _events_since(store, last_event) == []

    async def test_an_upsert_that_repeats_a_run_is_applied(self, store: FullStore) -> None:
        task = a_task(key="report")
        run = an_ended_run(task)
        await store.add([a_new_task(task, runs=[run])])
        edited = Change(
            task=task._replace(name="renamed"), new_runs=(_skipped(task),), events=_events_of(_skipped(task))
        )
        last_event = await store.last_event()
        after = await store.upsert(task.owner, "report", lambda _: edited)
        assert after.task.name == "renamed"
        assert await get_run(store, run) == run
        assert await _events_since(store, last_event) == []


async def _task_of(store: FullStore, run: Run) -> Task:
    facts = await store.facts(run.task_id, None)
    assert facts is not None
    return facts.task
