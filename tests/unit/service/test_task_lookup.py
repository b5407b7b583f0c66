"""Task lists in pages, and lookup by id, key, name or unique prefix."""

from __future__ import annotations

import pytest

from horae.model.change import Change
from horae.model.page import MAX_PAGE_SIZE
from horae.model.task import Task, TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.testing.decisions import always
from horae.testing.factories import HOUR
from tests.unit.service.service_harness import ADA, BOB, ROOT, code_of, open_harness, refusal_of


async def test_task_pages_are_contiguous_and_filtered_by_owner() -> None:
    async with open_harness() as harness:
        mine = [await harness.add(name=f"task {number}") for number in range(5)]
        yours = await harness.add(who=BOB)
        first = await harness.tasks.page(ADA, limit=3)
        second = await harness.tasks.page(ADA, after=first.after, limit=3)
        assert [facts.task for facts in (*first.items, *second.items)] == mine
        assert second.after is None
        assert len((await harness.tasks.page(ROOT)).items) == 6
        assert [each.task for each in (await harness.tasks.page(ROOT, TaskFilter(owner="bob"))).items] == [yours]
        paused = await harness.tasks.pause(ADA, mine[2].id)
        wanted = TaskFilter(states=frozenset({TaskState.PAUSED}))
        assert [each.task for each in (await harness.tasks.page(ADA, wanted)).items] == [paused.task]


async def test_totals_are_exact_by_state_and_bounded_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_harness() as harness:
        made = [await harness.add(name=f"task {number}", labels={"odd": str(number % 2)}) for number in range(5)]
        await harness.tasks.pause(ADA, made[0].id)
        await harness.add(who=BOB)
        asked: list[TaskFilter] = []
        counted = harness.store.count_tasks

        async def count_tasks(wanted: TaskFilter, limit: int) -> int:
            asked.append(wanted)
            return await counted(wanted, limit)

        monkeypatch.setattr(harness.store, "count_tasks", count_tasks)
        paused = TaskFilter(states=frozenset({TaskState.PAUSED}))
        assert await harness.tasks.count(ADA) == (5, False)
        assert await harness.tasks.count(ADA, paused) == (1, False)
        assert await harness.tasks.count(ROOT) == (6, False)
        assert await harness.tasks.count(ROOT, TaskFilter("bob")) == (1, False)
        assert await harness.tasks.count(BOB, TaskFilter("ada")) == (0, False)
        assert await harness.tasks.count(ROOT, TaskFilter("")) == (0, False), "an empty owner is no wildcard"
        assert asked == [TaskFilter("")], "the others cost the same however many there are"
        for most, text, expected in ((4, "task", (4, True)), (4, "task 1", (1, False)), (6, "task", (5, False))):
            monkeypatch.setattr("horae.service.tasks.lookup.MAX_COUNTED", most)
            assert await harness.tasks.count(ADA, TaskFilter(text=text)) == expected
        monkeypatch.setattr("horae.service.tasks.lookup.MAX_COUNTED", 2)
        odd = TaskFilter(labels=(("odd", "1"),))
        assert await harness.tasks.count(ADA, odd) == (2, False), "not more than that, but exactly as many"


async def test_total_does_not_include_tasks_of_others() -> None:
    async with open_harness() as harness:
        await harness.add("now")
        await harness.claim()
        mine = await harness.add()
        for owner in ("bob", "nobody"):
            assert (await harness.tasks.page(ADA, TaskFilter(owner))).items == ()
            assert (await harness.runs.page(ADA, RunFilter(owner))).items == ()
            report = await harness.service.bulk.each(
                ADA, TaskFilter(owner), lambda task: harness.tasks.cancel(ADA, task.id)
            )
            assert (report.matched, report.done) == (0, 0)
        assert (await harness.tasks.get(ADA, mine.id)).status.state is TaskState.ACTIVE
        assert len((await harness.tasks.page(ADA, TaskFilter("ada"))).items) == 2
        assert len((await harness.runs.page(ADA, RunFilter("ada"))).items) == 1


@pytest.mark.parametrize("limit", [0, -1, MAX_PAGE_SIZE + 2, 1.5, "3", None, True])
async def test_page_size_is_checked(limit: object) -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.run_now(ADA, task.id)
        (run,) = await harness.claim()
        for call in (
            harness.tasks.page(ADA, limit=limit),  # type: ignore[arg-type]
            harness.tasks.upcoming(ADA, limit),  # type: ignore[arg-type]
            harness.runs.page(ADA, limit=limit),  # type: ignore[arg-type]
            harness.runs.lines(ADA, run.id, limit=limit),  # type: ignore[arg-type]
            harness.service.events.after(ADA, 0, limit),  # type: ignore[arg-type]
        ):
            assert await code_of(call) == "bad_page"


@pytest.mark.parametrize("after", ["\n", "x" * 201, "\ud800"])
async def test_invalid_task_cursor_is_refused(after: str) -> None:
    async with open_harness() as harness:
        assert await code_of(harness.tasks.page(ADA, after=after)) == "bad_page"
        assert await code_of(harness.runs.page(ADA, after=after)) == "bad_page"


@pytest.mark.parametrize("after", ["", "abc", "1/2", "a/b/c", f"{10**60}/1/x", f"{10**20}/1/x", "²/1/x"])
async def test_invalid_run_cursor_is_refused(after: str) -> None:
    async with open_harness() as harness:
        assert await code_of(harness.runs.page(ADA, after=after)) == "bad_page"


async def test_runs_are_listed_newest_first_page_by_page() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        runs = [await harness.run_due(HOUR) for _ in range(4)]
        await harness.add(who=BOB)
        first = await harness.runs.page(ADA, RunFilter(task_id=task.id), limit=3)
        second = await harness.runs.page(ADA, RunFilter(task_id=task.id), first.after, 3)
        assert [*first.items, *second.items] == runs[::-1]


async def test_next_and_last_runs_of_listed_tasks_are_returned() -> None:
    async with open_harness() as harness:
        later = await harness.add("every 2h")
        sooner = await harness.add("every 1h")
        run = await harness.run_due(HOUR)
        listed = await harness.tasks.upcoming(ADA)
        assert [facts.task for facts in listed] == [later, sooner]
        assert await harness.tasks.latest(ADA, listed) == {sooner.id: run}
        assert [facts.task for facts in await harness.tasks.upcoming(ADA, 1)] == [later]


# --- by name ---------------------------------------------------------------------------------------------------------


async def test_task_is_found_by_id_key_name_or_prefix() -> None:
    async with open_harness() as harness:
        task = await harness.add(name="weekly report", key="reports/weekly")
        harness.advance(HOUR)
        await harness.add(name="something else")
        for name in (task.id, "reports/weekly", "weekly report", "weekly", "w", task.id[:-1]):
            assert (await harness.tasks.find_by_name(ADA, name)).task == task, name


async def test_lookup_prefers_id_then_key_then_name_then_prefix() -> None:
    async with open_harness() as harness:
        first = await harness.add(name="report")
        keyed = await harness.add(name="other", key="report")
        assert (await harness.tasks.find_by_name(ADA, "report")).task == keyed
        named = await harness.add(name=first.id)
        assert (await harness.tasks.find_by_name(ADA, first.id)).task == first
        longer = await harness.add(name="report of the week")
        await harness.tasks.delete(ADA, keyed.id)
        assert (await harness.tasks.find_by_name(ADA, "report")).task == first
        assert (await harness.tasks.find_by_name(ADA, "report of")).task == longer
        assert named.name == first.id


@pytest.mark.parametrize("how", ["name", "beginning", "id"])
async def test_ambiguous_name_is_refused_with_the_ids(how: str) -> None:
    async with open_harness() as harness:
        tasks = [await harness.add(name="report" if how == "name" else f"report {number}") for number in range(7)]
        asked = {"name": "report", "beginning": "rep", "id": "tsk_"}[how]
        refusal = await refusal_of(harness.tasks.find_by_name(ADA, asked))
        assert refusal.code == "ambiguous_name"
        found = str(refusal.facts["found"]).split(", ")
        assert 2 <= len(found) <= 5
        known = {f"{task.id} {task.name} (ada)" for task in tasks}
        assert set(found) <= known, "each with its name and owner"


async def test_prefix_match_is_preferred_to_substring_match() -> None:
    async with open_harness() as harness:
        for number in range(12):
            await harness.add(name=f"daily report {number}")
        task = await harness.add(name="report of the year")
        assert (await harness.tasks.find_by_name(ADA, "report")).task == task
        await harness.add(name="reporting")
        assert await code_of(harness.tasks.find_by_name(ADA, "report")) == "ambiguous_name"


@pytest.mark.parametrize("name", ["", "nothing like it", "%", "tsk_ffffffffffff", "🌱"])
async def test_unknown_name_is_not_found(name: str) -> None:
    """Nothing at all names nothing, also where there is only one task."""

    async with open_harness() as harness:
        await harness.add()
        refusal = await refusal_of(harness.tasks.find_by_name(ADA, name))
        assert (refusal.code, refusal.facts) == ("no_such_task", {"id": name})


async def test_names_are_looked_up_per_owner_and_by_admins_for_all() -> None:
    async with open_harness() as harness:
        mine = await harness.add(name="report")
        yours = await harness.add(name="report", who=BOB)
        assert (await harness.tasks.find_by_name(ADA, "report")).task == mine
        assert (await harness.tasks.find_by_name(BOB, "report")).task == yours
        assert await code_of(harness.tasks.find_by_name(ROOT, "report")) == "ambiguous_name"


async def test_name_resolves_to_the_unfinished_task() -> None:
    async with open_harness() as harness:
        cancelled = await harness.add(name="tea")
        await harness.tasks.cancel(ADA, cancelled.id)
        added_again = await harness.add(name="tea")
        for asked in ("tea", "te"):
            assert (await harness.tasks.find_by_name(ADA, asked)).task == added_again, asked
        assert (await harness.tasks.find_by_name(ADA, cancelled.id)).task == cancelled, (
            "an id names one task in any state"
        )


async def test_name_of_finished_tasks_only_resolves_to_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        monkeypatch.setattr("horae.service.tasks.lookup.MAX_PAGE_SIZE", 2)
        tasks = [await harness.add(name="tea") for _ in range(5)]
        for each in (tasks[4], *tasks[:4]):
            await harness.tasks.cancel(ADA, each.id)
        assert (await harness.tasks.find_by_name(ADA, "tea")).task == tasks[-1]
        other = await harness.add(name="teapot")
        assert (await harness.tasks.find_by_name(ADA, "tea")).task == tasks[-1], "a whole name comes before a beginning"
        await harness.tasks.cancel(ADA, other.id)
        refusal = await refusal_of(harness.tasks.find_by_name(ADA, "te"))
        assert refusal.code == "ambiguous_name"
        assert str(refusal.facts["found"]).split(", ") == [
            f"{tasks[-1].id} tea (ada)",
            f"{other.id} teapot (ada)",
        ]


async def test_name_is_ambiguous_among_unfinished_tasks_only() -> None:
    async with open_harness() as harness:
        cancelled, paused, active = [await harness.add(name="tea") for _ in range(3)]
        await harness.tasks.cancel(ADA, cancelled.id)
        await harness.tasks.pause(ADA, paused.id)
        refusal = await refusal_of(harness.tasks.find_by_name(ADA, "tea"))
        assert refusal.code == "ambiguous_name"
        assert str(refusal.facts["found"]).split(", ") == [f"{paused.id} tea (ada)", f"{active.id} tea (ada)"]


async def test_key_of_a_finished_task_gives_way_to_an_unfinished_name() -> None:
    async with open_harness() as harness:
        keyed = await harness.add(name="pot", key="tea")
        await harness.tasks.cancel(ADA, keyed.id)
        assert (await harness.tasks.find_by_name(ADA, "tea")).task.id == keyed.id
        named = await harness.add(name="tea")
        assert (await harness.tasks.find_by_name(ADA, "tea")).task == named
        await harness.tasks.cancel(ADA, named.id)
        assert (await harness.tasks.find_by_name(ADA, "tea")).task.id == keyed.id, "a key comes before a name"


async def test_finished_tasks_of_several_owners_stay_ambiguous_for_an_admin() -> None:
    async with open_harness() as harness:
        for who in (ADA, BOB):
            task = await harness.add(name="tea", who=who)
            await harness.tasks.cancel(who, task.id)
        assert await code_of(harness.tasks.find_by_name(ROOT, "tea")) == "ambiguous_name"


async def test_task_deleted_during_a_listing_is_left_out() -> None:
    async with open_harness() as harness:
        tasks: list[Task] = [await harness.add(name=f"task {number}") for number in range(4)]
        first = await harness.tasks.page(ADA, limit=2)
        await harness.store.change(tasks[1].id, None, always(Change(deleted=True)))
        await harness.store.change(tasks[2].id, None, always(Change(deleted=True)))
        rest = await harness.tasks.page(ADA, after=first.after, limit=2)
        assert [facts.task for facts in rest.items] == tasks[3:]
