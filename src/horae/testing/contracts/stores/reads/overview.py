"""Contract of the overview queries: upcoming tasks, latest runs, lanes and nodes."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from .....model.change import Change
from .....model.entry import EntryState
from .....model.lanes.lane import LaneUse
from .....model.reason import Reason
from .....model.run import Origin, RunState, Span
from .....model.task import Task
from .....ports.full_store import FullStore
from .....ports.store import RunFilter
from ....decisions import always, drop
from ....factories import (
    DAY,
    HOUR,
    MICROSECOND,
    MINUTE,
    NODE,
    NOON,
    SECOND,
    a_new_task,
    a_node,
    a_run,
    a_task,
    an_ended_run,
    an_entry,
    an_extra_entry,
)
from ..contract import Contract
from ..setup import add_tasks, claim, fill_lane, settle, start_run


async def _list_upcoming(store: FullStore, owner: str | None = None, limit: int = 20) -> list[str]:
    return [facts.task.id for facts in await store.upcoming(owner, limit)]


def _ids(*tasks: Task) -> list[str]:
    return [task.id for task in tasks]


class OverviewContract(Contract):
    # --- upcoming tasks ----------------------------------------------------------------------------------------------

    async def test_upcoming_tasks_are_sorted_by_due_instant(self, store: FullStore) -> None:
        tasks = [a_task() for _ in range(5)]
        for task, hours in zip(tasks, (3, 1, 5, 2, 4), strict=True):
            await add_tasks(store, task, due=NOON + hours * HOUR)
        in_order = _ids(tasks[1], tasks[3], tasks[0], tasks[4], tasks[2])
        assert await _list_upcoming(store) == in_order
        assert await _list_upcoming(store, limit=2) == in_order[:2]
        assert await _list_upcoming(store, "ada") == in_order
        assert await _list_upcoming(store, "ada", limit=2) == in_order[:2]

    async def test_upcoming_tasks_are_filtered_by_owner(self, store: FullStore) -> None:
        mine, yours = a_task(owner="ada"), a_task(owner="bob")
        await add_tasks(store, yours)
        await add_tasks(store, mine, due=NOON + HOUR)
        assert await _list_upcoming(store) == _ids(yours, mine)
        assert await _list_upcoming(store, "ada") == _ids(mine)
        assert await _list_upcoming(store, "bob") == _ids(yours)
        assert await _list_upcoming(store, "cyd") == []

    async def test_a_task_with_many_entries_is_upcoming_once(self, store: FullStore) -> None:
        busy, other = a_task(), a_task()
        extra = [an_extra_entry(busy, due=NOON + place * SECOND) for place in range(1, 60)]
        await store.add([a_new_task(busy, entries=[an_entry(busy), *extra])])
        await add_tasks(store, other, due=NOON + HOUR)
        assert await _list_upcoming(store) == _ids(busy, other)
        assert await _list_upcoming(store, "ada") == _ids(busy, other)
        assert await _list_upcoming(store, limit=2) == _ids(busy, other)
        assert await _list_upcoming(store, limit=1) == _ids(busy)

    async def test_sleeping_held_parked_and_ended_tasks_are_not_upcoming(self, store: FullStore) -> None:
        states = (EntryState.ASLEEP, EntryState.HELD, EntryState.PARKED)
        tasks = [a_task() for _ in states]
        changes = [
            a_new_task(
                task, entries=[an_entry(task, state=state, lane="press" if state is EntryState.PARKED else None)]
            )
            for task, state in zip(tasks, states, strict=True)
        ]
        over, coming = a_task(), a_task()
        await store.add([*changes, a_new_task(over, entries=[]), a_new_task(coming)])
        assert await _list_upcoming(store) == _ids(coming)
        assert await _list_upcoming(store, "ada") == _ids(coming)

    async def test_queued_overdue_tasks_come_before_future_ones(self, store: FullStore) -> None:
        """A backlog is overdue, hence before any future instant."""
        late, soon = [a_task() for _ in range(3 * self.slice_size)], a_task()
        await store.join(a_node())
        await add_tasks(store, *late)
        await add_tasks(store, soon, due=NOON + HOUR)
        await claim(store, decide=drop)
        for owner in (None, "ada"):
            found = await _list_upcoming(store, owner, limit=1_000)
            assert len(found) == 2 * self.slice_size + 1
            assert found[-1] == soon.id
            assert set(found[:-1]) < set(_ids(*late))

    async def test_upcoming_facts_have_entries_and_live_runs_but_no_lanes(self, store: FullStore) -> None:
        task = a_task(lane="press")
        run = await start_run(store, task)
        await store.change(task.id, None, always(Change(put=(an_entry(task, due=NOON + HOUR),))))
        (facts,) = await store.upcoming(None)
        assert (facts.task, facts.live, facts.lanes) == (task, (run,), ())
        assert facts.entries == (an_entry(task, due=NOON + HOUR),)

    # --- latest runs -------------------------------------------------------------------------------------------------

    async def test_the_latest_run_of_each_task_is_returned(self, store: FullStore) -> None:
        busy, idle, new = a_task(), a_task(), a_task()
        runs = [an_ended_run(busy, planned=NOON + place * HOUR) for place in (1, 3, 2)]
        row = a_run(idle, state=RunState.SKIPPED, reason=Reason.OVERLAP, started=None, node=None, ended=NOON)
        await store.add([a_new_task(busy, runs=runs), a_new_task(idle, runs=[row]), a_new_task(new)])
        assert await store.latest(_ids(busy, idle, new)) == {busy.id: runs[1], idle.id: row}
        assert await store.latest([idle.id]) == {idle.id: row}
        assert await store.latest([new.id, "tsk_unknown"]) == {}
        assert await store.latest([]) == {}

    async def test_the_last_attempt_of_an_instant_is_the_latest_run(self, store: FullStore) -> None:
        task = a_task()
        runs = [an_ended_run(task, attempt=attempt) for attempt in (2, 3, 1)]
        await store.add([a_new_task(task, runs=runs)])
        assert await store.latest([task.id]) == {task.id: runs[1]}

    async def test_the_latest_run_is_the_first_of_the_run_list(self, store: FullStore) -> None:
        """Also where runs of several origins share an instant."""
        task = a_task()
        runs = [an_ended_run(task, origin=origin) for origin in Origin]
        await store.add([a_new_task(task, runs=runs)])
        (first,) = (await store.runs(RunFilter(task_id=task.id), limit=1)).items
        assert await store.latest([task.id]) == {task.id: first}

    async def test_a_live_run_may_be_the_latest(self, store: FullStore) -> None:
        run = await start_run(store)
        assert await store.latest([run.task_id]) == {run.task_id: run}
        await settle(store, run)
        ended = (await store.latest([run.task_id]))[run.task_id]
        assert (ended.id, ended.state) == (run.id, RunState.SUCCEEDED)

    async def test_a_span_is_as_recent_as_its_last_instant(self, store: FullStore) -> None:
        task = a_task()
        span = Span(NOON, NOON + 5 * HOUR, 6)
        gone = a_run(
            task, planned=span.last, span=span, state=RunState.SKIPPED, reason=Reason.PAUSED, started=None, node=None
        )._replace(ended=NOON + DAY)
        by_hand = an_ended_run(task, planned=NOON + 3 * HOUR, origin=Origin.MANUAL)
        await store.add([a_new_task(task, runs=[gone, by_hand])])
        assert await store.latest([task.id]) == {task.id: gone}

    # --- newest outcomes ---------------------------------------------------------------------------------------------

    async def test_the_newest_outcomes_of_each_task_are_returned(self, store: FullStore) -> None:
        busy, idle, new = a_task(), a_task(), a_task()
        runs = [an_ended_run(busy, planned=NOON + place * HOUR) for place in range(6)]
        row = a_run(idle, state=RunState.SKIPPED, reason=Reason.OVERLAP, started=None, node=None, ended=NOON)
        await store.add([a_new_task(busy, runs=runs), a_new_task(idle, runs=[row]), a_new_task(new)])
        newest = tuple(run._replace(result_json=None, error=None) for run in reversed(runs))
        assert await store.outcomes(_ids(busy, idle, new), 4) == {busy.id: newest[:4], idle.id: (row,)}
        assert await store.outcomes([busy.id], 100) == {busy.id: newest}
        assert await store.outcomes([busy.id], 100, NOON + 4 * HOUR) == {busy.id: newest[:2]}
        assert await store.outcomes([busy.id], 100, NOON + 9 * HOUR) == {}
        assert await store.outcomes([new.id, "tsk_unknown"], 4) == {}
        assert await store.outcomes([], 4) == {}

    async def test_outcomes_have_no_results_and_errors(self, store: FullStore) -> None:
        task = a_task()
        failed = an_ended_run(task)._replace(error="no route to host", state=RunState.FAILED)
        succeeded = an_ended_run(task, planned=NOON + HOUR)._replace(result_json='"a long text"')
        await store.add([a_new_task(task, runs=[failed, succeeded])])
        found = await store.outcomes([task.id], 10)
        assert found == {task.id: (succeeded._replace(result_json=None), failed._replace(error=None))}

    async def test_live_runs_are_among_the_newest_outcomes(self, store: FullStore) -> None:
        task = a_task()
        run = await start_run(store, task)
        earlier = an_ended_run(task, planned=NOON - HOUR)
        later = an_ended_run(task, planned=NOON + HOUR)
        await store.change(task.id, None, always(Change(new_runs=(earlier, later))))
        found = (await store.outcomes([task.id], 2))[task.id]
        assert [each.id for each in found] == [later.id, run.id]
        assert [each.id for each in (await store.outcomes([task.id], 3))[task.id]] == [later.id, run.id, earlier.id]

    # --- names of tasks ----------------------------------------------------------------------------------------------

    async def test_names_of_several_tasks_are_read_at_once(self, store: FullStore) -> None:
        mine, other = a_task(name="晨报 <b>"), a_task(owner="carol", name="backup")
        await store.add([a_new_task(mine), a_new_task(other)])
        ids = [mine.id, other.id, "tsk_unknown", mine.id]
        assert await store.task_names(ids, None) == {mine.id: "晨报 <b>", other.id: "backup"}
        assert await store.task_names(ids, "carol") == {other.id: "backup"}
        assert await store.task_names(ids, "nobody") == {}
        assert await store.task_names([], None) == {}

    # --- lanes and nodes ---------------------------------------------------------------------------------------------

    async def test_lanes_with_a_limit_or_a_live_run_are_listed(self, store: FullStore) -> None:
        assert await store.lanes() == ()
        await store.set_lane("wide", 5)
        (run,) = await fill_lane(store, "narrow", a_task(), a_task())
        assert await store.lanes() == (LaneUse("narrow", 1, 1), LaneUse("wide", 5, 0))
        await store.set_lane("narrow", 3)
        await settle(store, run)
        assert await store.lanes() == (LaneUse("narrow", 3, 0), LaneUse("wide", 5, 0))

    async def test_nodes_are_listed_as_of_their_last_renewal(self, store: FullStore) -> None:
        assert await store.nodes() == ()
        joined = [a_node("node-2", home="b/2"), a_node(NODE, home="a/1", version="2.0")]
        for node in joined:
            await store.join(node)
        await store.renew_lease(NODE, NOON + MINUTE + MICROSECOND)
        expected = (joined[1]._replace(renewals=1, renewed=NOON + MINUTE + MICROSECOND), joined[0])
        assert await store.nodes() == expected
        await store.leave("node-2")
        async with self.another(store) as other:
            assert await other.nodes() == expected[:1]
