"""Contract of tasks: add, edit, list and filter; tasks of another owner are absent."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
from dataclasses import replace

from .....model.change import NOTHING, Change, Facts
from .....model.entry import EntryState
from .....model.lanes.lane import LaneUse
from .....model.limits import BULK_TASKS, PAYLOAD_BYTES
from .....model.task import NEW_TASK_STATUS, Pause, PauseCause, Target, Task, TaskState, TaskStatus
from .....ports.full_store import FullStore
from .....ports.store import TaskFilter
from ....decisions import always, fail
from ....factories import HOUR, NOON, a_new_task, a_task, an_entry, an_event, an_extra_entry
from ..contract import Contract
from ..setup import add_tasks, fill_lane, get_facts, start_run

_ALL = TaskFilter()


async def _listed(store: FullStore, wanted: TaskFilter = _ALL, size: int = 100) -> list[str]:
    """Read all pages."""
    found: list[str] = []
    after = None
    while True:
        page = await store.tasks(wanted, after, size)
        found.extend(facts.task.id for facts in page.items)
        if (after := page.after) is None:
            return found


def _ids(*tasks: Task) -> list[str]:
    return [task.id for task in tasks]


class TasksContract(Contract):
    async def test_an_added_task_is_read_back_with_its_entries(self, store: FullStore) -> None:
        task = a_task()
        entries = [an_entry(task), an_extra_entry(task, due=NOON + HOUR)]
        await store.add([a_new_task(task, entries=entries)])
        facts = await get_facts(store, task)
        assert (facts.task, facts.status, facts.live) == (task, NEW_TASK_STATUS, ())
        assert sorted(facts.entries) == sorted(entries)

    async def test_an_added_task_is_seen_by_other_handles(self, store: FullStore) -> None:
        task = a_task(key="report")
        await add_tasks(store, task)
        async with self.another(store) as other:
            assert (await get_facts(other, task)).task == task
            assert await other.next_due() == NOON

    async def test_a_thousand_tasks_are_added_at_once(self, store: FullStore) -> None:
        tasks = [a_task(name=f"task {place}") for place in range(BULK_TASKS)]
        await add_tasks(store, *tasks)
        assert await _listed(store, size=1_000) == _ids(*tasks)
        assert await store.last_event() == BULK_TASKS

    async def test_adding_no_tasks_is_allowed(self, store: FullStore) -> None:
        await store.add([])
        assert await _listed(store) == []

    async def test_a_large_payload_comes_back_whole(self, store: FullStore) -> None:
        payload = '"' + "äß漢🌱" * (PAYLOAD_BYTES // 14) + '"'
        task = a_task(payload=payload)
        await add_tasks(store, task)
        assert (await get_facts(store, task)).task.payload == payload

    async def test_a_task_may_have_no_entries(self, store: FullStore) -> None:
        task = a_task()
        await store.add([a_new_task(task, entries=[], status=TaskStatus(TaskState.COMPLETED, ended=NOON))])
        assert (await get_facts(store, task)).entries == ()
        assert await store.next_due() is None

    async def test_a_change_returns_the_facts_after_it(self, store: FullStore) -> None:
        task = a_task(lane="press")
        await add_tasks(store, task)
        edited = task._replace(name="edited", labels=(("source", "test"),), version=2)
        paused = TaskStatus(TaskState.PAUSED)
        entry = an_entry(task, state=EntryState.ASLEEP)
        facts = await store.change(task.id, "ada", always(Change(task=edited, status=paused, put=(entry,))))
        assert facts == Facts(edited, paused, (entry,), (), (LaneUse("press", 1, 0),), None)
        assert await store.facts(task.id, "ada") == facts

    async def test_an_empty_change_changes_nothing(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task)
        before = await get_facts(store, task)
        assert await store.change(task.id, None, always(NOTHING)) == before
        assert await get_facts(store, task) == before

    async def test_a_change_decision_receives_the_writes_of_the_change_before(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task)

        def count_up(facts: Facts) -> Change:
            return Change(status=facts.status._replace(counted=facts.status.counted + 1))

        async with self.another(store) as other:
            await asyncio.gather(*(each.change(task.id, None, count_up) for each in (store, other) * 10))
        assert (await get_facts(store, task)).status.counted == 20

    async def test_the_facts_include_lane_use(self, store: FullStore) -> None:
        await store.set_lane("press", 2)
        (run,) = await fill_lane(store, "press", a_task())
        facts = await store.facts(run.task_id, None)
        assert facts is not None
        assert (facts.lanes, facts.live) == ((LaneUse("press", 2, 1),), (run,))

    async def test_an_absent_task_is_none(self, store: FullStore) -> None:
        assert await store.facts("tsk_unknown", None) is None
        assert await store.change("tsk_unknown", None, fail) is None
        assert await store.find("ada", "unknown") is None
        assert await store.run("run_unknown", None) is None

    async def test_a_task_of_another_owner_is_none(self, store: FullStore) -> None:
        run = await start_run(store, a_task(owner="ada", key="report"))
        assert await store.facts(run.task_id, "bob") is None
        assert await store.change(run.task_id, "bob", fail) is None
        assert await store.find("bob", "report") is None
        assert await store.run(run.id, "bob") is None
        assert await store.run(run.id, "ada") == run
        assert await _listed(store, TaskFilter(owner="bob")) == []

    async def test_tasks_are_listed_in_the_order_in_which_they_were_added(self, store: FullStore) -> None:
        tasks = [a_task() for _ in range(5)]
        await store.add([a_new_task(tasks[place]) for place in (4, 0, 2)])
        await store.add([a_new_task(tasks[place]) for place in (3, 1)])
        assert await _listed(store) == _ids(*(tasks[place] for place in (4, 0, 2, 3, 1)))

    async def test_task_filters_narrow_and_combine(self, store: FullStore) -> None:
        plain = a_task()
        named = a_task(name="water")
        laned = a_task(lane="press", labels=(("source", "test"), ("room", "a")))
        foreign = a_task(owner="bob", name="water", labels=(("source", "test"),))
        paused = a_task(name="water")
        await add_tasks(store, plain, named, laned, foreign)
        await store.add([a_new_task(paused, status=TaskStatus(TaskState.PAUSED))])
        assert await _listed(store, TaskFilter(owner="bob")) == _ids(foreign)
        assert await _listed(store, TaskFilter(name="water")) == _ids(named, foreign, paused)
        assert await _listed(store, TaskFilter(lane="press")) == _ids(laned)
        assert await _listed(store, TaskFilter(states=frozenset({TaskState.PAUSED}))) == _ids(paused)
        assert await _listed(store, TaskFilter(states=frozenset())) == []
        both = frozenset({TaskState.PAUSED, TaskState.ACTIVE})
        assert await _listed(store, TaskFilter("ada", both, "water")) == _ids(named, paused)
        assert await _listed(store, TaskFilter(labels=(("source", "test"),))) == _ids(laned, foreign)
        assert await _listed(store, TaskFilter(labels=(("room", "a"), ("source", "test")))) == _ids(laned)
        assert await _listed(store, TaskFilter(labels=(("source", "tes"),))) == []

    async def test_tasks_are_listed_by_each_of_their_lanes(self, store: FullStore) -> None:
        both = a_task(lane="press", lanes=("glue", "ink"))
        first, further = a_task(lane="glue"), a_task(owner="bob", lane="mail", lanes=("glue",), labels=(("room", "a"),))
        await add_tasks(store, a_task(), both, first, further)
        assert await _listed(store, TaskFilter(lane="glue")) == _ids(both, first, further)
        assert await _listed(store, TaskFilter(lane="press")) == _ids(both)
        assert await _listed(store, TaskFilter("bob", lane="glue")) == _ids(further)
        assert await _listed(store, TaskFilter(lane="glue", labels=(("room", "a"),))) == _ids(further)
        assert await _listed(store, TaskFilter(lane="glu")) == []
        assert await _listed(store, TaskFilter(lane="glue"), 1) == _ids(both, first, further)
        edited = both._replace(policies=replace(both.policies, lanes=("ink",)))
        await store.change(both.id, None, always(Change(task=edited)))
        assert await _listed(store, TaskFilter(lane="glue")) == _ids(first, further)
        assert await _listed(store, TaskFilter(lane="ink")) == _ids(both)
        await store.change(further.id, None, always(Change(deleted=True)))
        assert await _listed(store, TaskFilter(lane="glue")) == _ids(first)
        assert await store.check() == ()

    async def test_tasks_are_counted_up_to_a_limit(self, store: FullStore) -> None:
        tasks = [a_task(owner=owner, labels=(("team", "ops"),)) for owner in ("ada", "ada", "bob")]
        await add_tasks(store, *tasks)
        assert await store.count_tasks(TaskFilter(), 100) == 3
        assert await store.count_tasks(TaskFilter(), 2) == 2
        assert await store.count_tasks(TaskFilter(owner="ada"), 100) == 2
        assert await store.count_tasks(TaskFilter(labels=(("team", "ops"),), owner="bob"), 100) == 1
        assert await store.count_tasks(TaskFilter(states=frozenset({TaskState.PAUSED})), 100) == 0
        assert await store.count_tasks(TaskFilter(name="absent"), 100) == 0

    async def test_tasks_are_found_by_part_of_their_name(self, store: FullStore) -> None:
        report, daily, percent = a_task(name="Report of the day"), a_task(name="daily REPORT"), a_task(name="100% _x")
        chinese = a_task(name="浇花 every Ä")
        await add_tasks(store, report, daily, percent, chinese)
        assert await _listed(store, TaskFilter(text="report")) == _ids(report, daily)
        assert await _listed(store, TaskFilter(text="REPORT"), size=1) == _ids(report, daily)
        assert await _listed(store, TaskFilter(text="浇")) == _ids(chinese)
        assert await _listed(store, TaskFilter(text="%")) == _ids(percent)
        assert await _listed(store, TaskFilter(text="_")) == _ids(percent)
        assert await _listed(store, TaskFilter(text="ä")) == [], "case folding is ASCII only"
        assert await _listed(store, TaskFilter(text="nothing like it")) == []
        assert await _listed(store, TaskFilter(text="")) == _ids(report, daily, percent, chinese)

    async def test_tasks_are_found_by_the_kind_of_their_target(self, store: FullStore) -> None:
        function, http = a_task(), a_task(target=Target("http", '{"url":"https://example.org"}'))
        await add_tasks(store, function, http)
        assert await _listed(store, TaskFilter(kind="http")) == _ids(http)
        assert await _listed(store, TaskFilter(kind="function", owner="ada")) == _ids(function)
        assert await _listed(store, TaskFilter(kind="htt")) == []

    async def test_tasks_are_found_by_id_prefix(self, store: FullStore) -> None:
        ids = ["tsk_10", "tsk_100", "tsk_101", "tsk_11", "tsk_2"]
        tasks = [a_task(id=each, owner="bob" if each == "tsk_101" else "ada") for each in ids]
        await add_tasks(store, *tasks)
        assert await _listed(store, TaskFilter(prefix="tsk_10"), size=1) == ["tsk_10", "tsk_100", "tsk_101"]
        assert await _listed(store, TaskFilter(prefix="tsk_10", owner="ada")) == ["tsk_10", "tsk_100"]
        assert await _listed(store, TaskFilter(prefix="tsk_2")) == ["tsk_2"]
        assert await _listed(store, TaskFilter(prefix="tsk_%")) == []
        assert await _listed(store, TaskFilter(prefix="sk_1")) == []
        assert await _listed(store, TaskFilter(prefix="")) == ids

    async def test_name_kind_and_prefix_filters_combine_with_all_others(self, store: FullStore) -> None:
        http = Target("http", '{"url":"https://example.org"}')
        wanted = a_task(name="send the report", target=http, lane="press", labels=(("room", "a"),))
        others = [
            a_task(name="send the report", target=http, labels=(("room", "a"),)),
            a_task(name="send the report", lane="press", labels=(("room", "a"),)),
            a_task(name="send it", target=http, lane="press", labels=(("room", "a"),)),
            a_task(name="send the report", target=http, lane="press"),
            a_task(name="send the report", target=http, lane="press", labels=(("room", "a"),), owner="bob"),
        ]
        await add_tasks(store, wanted, *others)
        both = TaskFilter("ada", frozenset({TaskState.ACTIVE}), None, "press", (("room", "a"),), "REPORT", "http")
        assert await _listed(store, both) == _ids(wanted)
        assert await _listed(store, both._replace(prefix=wanted.id)) == _ids(wanted)
        assert await _listed(store, both._replace(name="send the report")) == _ids(wanted)
        assert await _listed(store, both._replace(states=frozenset({TaskState.PAUSED, TaskState.FAILED}))) == []

    async def test_failed_tasks_are_listed_in_the_same_order(self, store: FullStore) -> None:
        states = [TaskState.FAILED, TaskState.ACTIVE, TaskState.PAUSED, TaskState.COMPLETED, TaskState.FAILED] * 3
        tasks = [a_task(owner="bob" if place % 4 == 0 else "ada") for place in range(len(states))]
        await store.add([a_new_task(each, status=TaskStatus(state)) for each, state in zip(tasks, states, strict=True)])
        for wanted in (frozenset({TaskState.FAILED}), frozenset({TaskState.FAILED, TaskState.PAUSED})):
            for owner in (None, "ada"):
                found = await _listed(store, TaskFilter(owner, wanted), size=2)
                assert found == [
                    each.id
                    for each, state in zip(tasks, states, strict=True)
                    if state in wanted and owner in (None, each.owner)
                ]

    async def test_pages_are_stable_while_tasks_are_added(self, store: FullStore) -> None:
        early, late = [a_task() for _ in range(5)], [a_task() for _ in range(5)]
        between = a_task(id=early[1].id + "0")
        await add_tasks(store, *early)
        first = await store.tasks(TaskFilter(), None, 3)
        await add_tasks(store, *late, between)
        seen = [facts.task.id for facts in first.items] + await self._rest(store, first.after)
        assert seen == _ids(*early, *late, between)
        assert await _listed(store, size=4) == _ids(*early, *late, between), "in order of insertion"

    async def _rest(self, store: FullStore, after: str | None) -> list[str]:
        found: list[str] = []
        while after is not None:
            page = await store.tasks(TaskFilter(), after, 3)
            found.extend(facts.task.id for facts in page.items)
            after = page.after
        return found

    async def test_the_last_page_has_no_cursor(self, store: FullStore) -> None:
        await add_tasks(store, *(a_task() for _ in range(4)))
        first = await store.tasks(TaskFilter(), None, 2)
        assert first.after is not None
        second = await store.tasks(TaskFilter(), first.after, 2)
        assert (len(second.items), second.after) == (2, None)

    async def test_a_list_carries_entries_and_live_runs(self, store: FullStore) -> None:
        task = a_task(lane="press")
        run = await start_run(store, task)
        await store.change(task.id, None, always(Change(put=(an_entry(task, due=NOON + HOUR),))))
        (facts,) = (await store.tasks(TaskFilter())).items
        assert (facts.live, facts.entries, facts.lanes) == ((run,), (an_entry(task, due=NOON + HOUR),), ())

    async def test_the_store_copies_its_arguments(self, store: FullStore) -> None:
        """The caller may go on changing the lists that it passed."""
        task = a_task()
        changes = [a_new_task(task)]
        await store.add(changes)
        changes[0] = a_new_task(a_task(name="something else"))
        changes.clear()
        facts = await get_facts(store, task)
        assert facts.task == task
        assert isinstance(facts.entries, tuple)
        assert isinstance(facts.live, tuple)
        assert isinstance((await store.tasks(TaskFilter())).items, tuple)
        assert isinstance(await store.events(0), tuple)

    async def test_an_edit_writes_its_events_in_order(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task)
        events = tuple(an_event(task, detail=text) for text in ("first", "second"))
        await store.change(task.id, None, always(Change(events=events)))
        assert [numbered.event for numbered in await store.events(1)] == list(events)

    async def test_failing_tasks_are_found_in_creation_order(self, store: FullStore) -> None:
        owners = ("ada", "bob", "ada", "ada", "bob", "ada")
        tasks = [a_task(owner=owner, name=f"task {place}") for place, owner in enumerate(owners)]
        statuses = [TaskStatus(failures=failures) for failures in (0, 3, 1, 0, 2, 7)]
        statuses[5] = TaskStatus(TaskState.FAILED, failures=7, ended=NOON)
        await store.add([a_new_task(task, status=each) for task, each in zip(tasks, statuses, strict=True)])
        failing = TaskFilter(failing=True)
        assert await _listed(store, failing) == _ids(tasks[1], tasks[2], tasks[4])
        assert await _listed(store, failing, size=1) == _ids(tasks[1], tasks[2], tasks[4])
        assert await _listed(store, failing._replace(owner="bob")) == _ids(tasks[1], tasks[4])
        assert await _listed(store, failing._replace(owner="cyd")) == []
        assert await _listed(store, failing._replace(text="2")) == _ids(tasks[2])
        assert await _listed(store, failing._replace(states=frozenset({TaskState.FAILED}))) == []
        assert (await store.count_tasks(failing, 100), await store.count_tasks(failing, 2)) == (3, 2)
        await store.change(tasks[1].id, None, always(Change(status=TaskStatus())))
        await store.change(tasks[3].id, None, always(Change(status=TaskStatus(failures=1))))
        assert await _listed(store, failing) == _ids(tasks[2], tasks[3], tasks[4])
        assert await store.count_tasks(failing._replace(owner="ada"), 100) == 2

    async def test_paused_tasks_are_found_by_cause_among_many(self, store: FullStore) -> None:
        owners = ("ada", "bob", "ada")
        causes = [PauseCause.REQUESTED] * 300
        causes[250], causes[299] = PauseCause.AWAITING_APPROVAL, PauseCause.ORPHANED
        tasks = [a_task(owner=owners[place % 3], name=f"task {place}") for place in range(300)]
        paused = [TaskStatus(TaskState.PAUSED, pause=Pause(NOON, cause)) for cause in causes]
        await store.add([a_new_task(task, status=each) for task, each in zip(tasks, paused, strict=True)])
        waiting = TaskFilter(pause_cause=PauseCause.AWAITING_APPROVAL)
        assert await _listed(store, waiting) == _ids(tasks[250])
        assert await _listed(store, waiting._replace(owner="bob")) == _ids(tasks[250])
        assert await _listed(store, waiting._replace(owner="ada")) == []
        assert await _listed(store, waiting._replace(name="task 250")) == _ids(tasks[250])
        assert await _listed(store, waiting._replace(text="task 9")) == []
        assert await _listed(store, waiting._replace(states=frozenset({TaskState.ACTIVE}))) == []
        assert await _listed(store, waiting._replace(failing=True)) == []
        assert await _listed(store, TaskFilter(pause_cause=PauseCause.ORPHANED)) == _ids(tasks[299])
        requested = TaskFilter(pause_cause=PauseCause.REQUESTED)
        kept = [task for task, cause in zip(tasks, causes, strict=True) if cause is PauseCause.REQUESTED]
        assert await _listed(store, requested, size=40) == _ids(*kept)
        assert (await store.count_tasks(requested, 1_000), await store.count_tasks(waiting, 1_000)) == (298, 1)
        await store.change(tasks[250].id, None, always(Change(status=TaskStatus())))
        ended = TaskStatus(TaskState.CANCELLED, ended=NOON)
        await store.change(tasks[299].id, None, always(Change(status=ended)))
        await store.change(tasks[7].id, None, always(Change(status=paused[250])))
        assert await _listed(store, waiting) == _ids(tasks[7])
        assert await _listed(store, TaskFilter(pause_cause=PauseCause.ORPHANED)) == []
