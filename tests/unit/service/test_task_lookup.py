"""Tasks are listed page by page, and found by id, key, name, or as much of either as is unique."""

from __future__ import annotations

from typing import Any

import pytest

from horae.model.change import Change, Facts
from horae.model.page import MAX_PAGE_SIZE, Page
from horae.model.task import Task, TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.testing.decisions import always
from horae.testing.factories import HOUR
from tests.unit.service.service_harness import ADA, BOB, ROOT, code_of, house_on, refusal_of


async def test_pages_follow_one_another_and_everybody_sees_their_own() -> None:
    async with house_on() as house:
        mine = [await house.add(name=f"task {number}") for number in range(5)]
        yours = await house.add(who=BOB)
        first = await house.tasks.page(ADA, limit=3)
        second = await house.tasks.page(ADA, after=first.after, limit=3)
        assert [facts.task for facts in (*first.items, *second.items)] == mine
        assert second.after is None
        assert len((await house.tasks.page(ROOT)).items) == 6
        assert [each.task for each in (await house.tasks.page(ROOT, TaskFilter(owner="bob"))).items] == [yours]
        paused = await house.tasks.pause(ADA, mine[2].id)
        wanted = TaskFilter(states=frozenset({TaskState.PAUSED}))
        assert [each.task for each in (await house.tasks.page(ADA, wanted)).items] == [paused.task]


async def test_how_many_there_are_is_known_by_state_and_counted_up_to_a_bound_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with house_on() as house:
        made = [await house.add(name=f"task {number}", labels={"odd": str(number % 2)}) for number in range(5)]
        await house.tasks.pause(ADA, made[0].id)
        await house.add(who=BOB)
        asked: list[TaskFilter] = []
        listed = house.store.tasks

        async def tasks(wanted: TaskFilter, *page: Any) -> Page[Facts]:
            asked.append(wanted)
            return await listed(wanted, *page)

        monkeypatch.setattr(house.store, "tasks", tasks)
        paused = TaskFilter(states=frozenset({TaskState.PAUSED}))
        assert await house.tasks.count(ADA) == (5, False)
        assert await house.tasks.count(ADA, paused) == (1, False)
        assert await house.tasks.count(ROOT) == (6, False)
        assert await house.tasks.count(ROOT, TaskFilter("bob")) == (1, False)
        assert await house.tasks.count(BOB, TaskFilter("ada")) == (0, False)
        assert await house.tasks.count(ROOT, TaskFilter("")) == (0, False), "nobody is called that: not everybody"
        assert asked == [TaskFilter("")], "the others cost the same however many there are"
        monkeypatch.setattr("horae.service.tasks.lookup.MAX_PAGE_SIZE", 2)
        for most, text, expected in ((4, "task", (4, True)), (4, "task 1", (1, False)), (6, "task", (5, False))):
            monkeypatch.setattr("horae.service.tasks.lookup.MAX_COUNTED", most)
            assert await house.tasks.count(ADA, TaskFilter(text=text)) == expected
        monkeypatch.setattr("horae.service.tasks.lookup.MAX_COUNTED", 2)
        odd = TaskFilter(labels=(("odd", "1"),))
        assert await house.tasks.count(ADA, odd) == (2, False), "not more than that, but exactly as many"


async def test_what_is_somebody_elses_is_not_taken_for_all_that_is_ones_own() -> None:
    async with house_on() as house:
        await house.add("now")
        await house.claim()
        mine = await house.add()
        for owner in ("bob", "nobody"):
            assert (await house.tasks.page(ADA, TaskFilter(owner))).items == ()
            assert (await house.runs.page(ADA, RunFilter(owner))).items == ()
            report = await house.service.bulk.each(
                ADA, TaskFilter(owner), lambda task: house.tasks.cancel(ADA, task.id)
            )
            assert (report.matched, report.done) == (0, 0)
        assert (await house.tasks.get(ADA, mine.id)).status.state is TaskState.ACTIVE
        assert len((await house.tasks.page(ADA, TaskFilter("ada"))).items) == 2
        assert len((await house.runs.page(ADA, RunFilter("ada"))).items) == 1


@pytest.mark.parametrize("limit", [0, -1, MAX_PAGE_SIZE + 2, 1.5, "3", None, True])
async def test_a_page_has_a_sensible_size(limit: object) -> None:
    async with house_on() as house:
        task = await house.add()
        await house.tasks.run_now(ADA, task.id)
        (run,) = await house.claim()
        for call in (
            house.tasks.page(ADA, limit=limit),  # type: ignore[arg-type]
            house.tasks.upcoming(ADA, limit),  # type: ignore[arg-type]
            house.runs.page(ADA, limit=limit),  # type: ignore[arg-type]
            house.runs.lines(ADA, run.id, limit=limit),  # type: ignore[arg-type]
            house.service.events.after(ADA, 0, limit),  # type: ignore[arg-type]
        ):
            assert await code_of(call) == "bad_page"


@pytest.mark.parametrize("after", ["\n", "x" * 201, "\ud800"])
async def test_a_place_that_no_page_ended_at_is_refused(after: str) -> None:
    async with house_on() as house:
        assert await code_of(house.tasks.page(ADA, after=after)) == "bad_page"
        assert await code_of(house.runs.page(ADA, after=after)) == "bad_page"


@pytest.mark.parametrize("after", ["", "abc", "1/2", "a/b/c", f"{10**60}/1/x", f"{10**20}/1/x", "²/1/x"])
async def test_a_place_in_the_ledger_that_cannot_be_read_is_refused(after: str) -> None:
    async with house_on() as house:
        assert await code_of(house.runs.page(ADA, after=after)) == "bad_page"


async def test_runs_are_listed_newest_first_page_by_page() -> None:
    async with house_on() as house:
        task = await house.add()
        runs = [await house.ran(HOUR) for _ in range(4)]
        await house.add(who=BOB)
        first = await house.runs.page(ADA, RunFilter(task_id=task.id), limit=3)
        second = await house.runs.page(ADA, RunFilter(task_id=task.id), first.after, 3)
        assert [*first.items, *second.items] == runs[::-1]


async def test_what_comes_next_and_what_was_last_are_told_of_a_list() -> None:
    async with house_on() as house:
        later = await house.add("every 2h")
        sooner = await house.add("every 1h")
        run = await house.ran(HOUR)
        listed = await house.tasks.upcoming(ADA)
        assert [facts.task for facts in listed] == [later, sooner]
        assert await house.tasks.latest(ADA, listed) == {sooner.id: run}
        assert [facts.task for facts in await house.tasks.upcoming(ADA, 1)] == [later]


# --- by name ---------------------------------------------------------------------------------------------------------


async def test_a_task_is_found_by_whatever_names_it() -> None:
    async with house_on() as house:
        task = await house.add(name="weekly report", key="reports/weekly")
        house.later(HOUR)
        await house.add(name="something else")
        for name in (task.id, "reports/weekly", "weekly report", "weekly", "w", task.id[:-1]):
            assert (await house.tasks.find_by_name(ADA, name)).task == task, name


async def test_an_id_comes_before_a_key_a_key_before_a_name_and_a_name_before_its_beginning() -> None:
    async with house_on() as house:
        first = await house.add(name="report")
        keyed = await house.add(name="other", key="report")
        assert (await house.tasks.find_by_name(ADA, "report")).task == keyed
        named = await house.add(name=first.id)
        assert (await house.tasks.find_by_name(ADA, first.id)).task == first
        longer = await house.add(name="report of the week")
        await house.tasks.delete(ADA, keyed.id)
        assert (await house.tasks.find_by_name(ADA, "report")).task == first
        assert (await house.tasks.find_by_name(ADA, "report of")).task == longer
        assert named.name == first.id


@pytest.mark.parametrize("how", ["name", "beginning", "id"])
async def test_what_several_are_called_is_refused_with_their_ids(how: str) -> None:
    async with house_on() as house:
        tasks = [await house.add(name="report" if how == "name" else f"report {number}") for number in range(7)]
        asked = {"name": "report", "beginning": "rep", "id": "tsk_"}[how]
        refusal = await refusal_of(house.tasks.find_by_name(ADA, asked))
        assert refusal.code == "ambiguous_name"
        found = str(refusal.facts["found"]).split(", ")
        assert 2 <= len(found) <= 5
        known = {f"{task.id} {task.name} (ada)" for task in tasks}
        assert set(found) <= known, "each with its name and owner"


async def test_those_that_only_contain_it_do_not_hide_the_one_that_begins_with_it() -> None:
    async with house_on() as house:
        for number in range(12):
            await house.add(name=f"daily report {number}")
        task = await house.add(name="report of the year")
        assert (await house.tasks.find_by_name(ADA, "report")).task == task
        await house.add(name="reporting")
        assert await code_of(house.tasks.find_by_name(ADA, "report")) == "ambiguous_name"


@pytest.mark.parametrize("name", ["", "nothing like it", "%", "tsk_ffffffffffff", "🌱"])
async def test_what_nothing_is_called_is_not_found(name: str) -> None:
    """Nothing at all names nothing, also where there is only one task."""

    async with house_on() as house:
        await house.add()
        refusal = await refusal_of(house.tasks.find_by_name(ADA, name))
        assert (refusal.code, refusal.facts) == ("no_such_task", {"id": name})


async def test_names_are_an_owners_own_and_an_admin_knows_all_of_them() -> None:
    async with house_on() as house:
        mine = await house.add(name="report")
        yours = await house.add(name="report", who=BOB)
        assert (await house.tasks.find_by_name(ADA, "report")).task == mine
        assert (await house.tasks.find_by_name(BOB, "report")).task == yours
        assert await code_of(house.tasks.find_by_name(ROOT, "report")) == "ambiguous_name"


async def test_name_resolves_to_the_unfinished_task() -> None:
    async with house_on() as house:
        cancelled = await house.add(name="tea")
        await house.tasks.cancel(ADA, cancelled.id)
        added_again = await house.add(name="tea")
        for asked in ("tea", "te"):
            assert (await house.tasks.find_by_name(ADA, asked)).task == added_again, asked
        assert (await house.tasks.find_by_name(ADA, cancelled.id)).task == cancelled, (
            "an id names one task in any state"
        )


async def test_name_of_finished_tasks_only_resolves_to_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    async with house_on() as house:
        monkeypatch.setattr("horae.service.tasks.lookup.MAX_PAGE_SIZE", 2)
        tasks = [await house.add(name="tea") for _ in range(5)]
        for each in (tasks[4], *tasks[:4]):
            await house.tasks.cancel(ADA, each.id)
        assert (await house.tasks.find_by_name(ADA, "tea")).task == tasks[-1]
        other = await house.add(name="teapot")
        assert (await house.tasks.find_by_name(ADA, "tea")).task == tasks[-1], "a whole name comes before a beginning"
        await house.tasks.cancel(ADA, other.id)
        refusal = await refusal_of(house.tasks.find_by_name(ADA, "te"))
        assert refusal.code == "ambiguous_name"
        assert str(refusal.facts["found"]).split(", ") == [
            f"{tasks[-1].id} tea (ada)",
            f"{other.id} teapot (ada)",
        ]


async def test_name_is_ambiguous_among_unfinished_tasks_only() -> None:
    async with house_on() as house:
        cancelled, paused, active = [await house.add(name="tea") for _ in range(3)]
        await house.tasks.cancel(ADA, cancelled.id)
        await house.tasks.pause(ADA, paused.id)
        refusal = await refusal_of(house.tasks.find_by_name(ADA, "tea"))
        assert refusal.code == "ambiguous_name"
        assert str(refusal.facts["found"]).split(", ") == [f"{paused.id} tea (ada)", f"{active.id} tea (ada)"]


async def test_key_of_a_finished_task_gives_way_to_an_unfinished_name() -> None:
    async with house_on() as house:
        keyed = await house.add(name="pot", key="tea")
        await house.tasks.cancel(ADA, keyed.id)
        assert (await house.tasks.find_by_name(ADA, "tea")).task.id == keyed.id
        named = await house.add(name="tea")
        assert (await house.tasks.find_by_name(ADA, "tea")).task == named
        await house.tasks.cancel(ADA, named.id)
        assert (await house.tasks.find_by_name(ADA, "tea")).task.id == keyed.id, "a key comes before a name"


async def test_finished_tasks_of_several_owners_stay_ambiguous_for_an_admin() -> None:
    async with house_on() as house:
        for who in (ADA, BOB):
            task = await house.add(name="tea", who=who)
            await house.tasks.cancel(who, task.id)
        assert await code_of(house.tasks.find_by_name(ROOT, "tea")) == "ambiguous_name"


async def test_a_task_that_is_deleted_while_a_list_is_read_is_just_gone() -> None:
    async with house_on() as house:
        tasks: list[Task] = [await house.add(name=f"task {number}") for number in range(4)]
        first = await house.tasks.page(ADA, limit=2)
        await house.store.change(tasks[1].id, None, always(Change(deleted=True)))
        await house.store.change(tasks[2].id, None, always(Change(deleted=True)))
        rest = await house.tasks.page(ADA, after=first.after, limit=2)
        assert [facts.task for facts in rest.items] == tasks[3:]
