"""Tasks page: rows, filter, empty states, bulk actions and demo tasks; each story asserts the stored tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from playwright.async_api import Page, expect

from horae.model.accounts.principal import Principal
from horae.model.reason import Reason
from horae.model.run import Origin, Run, RunState
from horae.model.task import PauseCause, Target, Task, TaskState
from horae.service.tasks.task_request import TaskRequest
from tests.console.accessibility import violations_in_both_themes
from tests.console.console_server import Console

ADA: Final = Principal("ada")
TARGET: Final = Target("event", '{"say":"hello"}')
HOSTILE: Final = "<script>alert(1)</script> שלום " + "very-long-name-" * 11
LONG_CHINESE: Final = "每天早上检查所有仓库的库存并把缺货的商品发送给采购部门的同事" * 4
HOUR: Final = timedelta(hours=1)


async def add_task(console: Console, name: str, when: str = "every day at 09:00", **fields: Any) -> Task:
    request = TaskRequest(name, when, TARGET, zone="Asia/Shanghai")._replace(**fields)
    return await console.service.tasks.create(ADA, request)


async def add_history(console: Console, task: Task) -> list[Run]:
    """Import one ended run in each state, an hour apart, and a missed one of yesterday at 09:00 in Shanghai."""
    now = console.api.app.context.clock.now().replace(microsecond=0)
    states = (RunState.SUCCEEDED, RunState.FAILED, RunState.TIMED_OUT, RunState.CANCELLED, RunState.SUCCEEDED)
    runs = []
    for number, state in enumerate(states, 1):
        at = now - number * HOUR
        started, ended = at + timedelta(milliseconds=7 * number), at + timedelta(seconds=number * number)
        error = "no route to host" if state is RunState.FAILED else None
        runs.append(
            Run("", task.id, "ada", Origin.SCHEDULED, at, at, 1, state, None, started=started, ended=ended, error=error)
        )
    at = (now - 24 * HOUR).replace(hour=1, minute=0, second=0)
    runs.append(Run("", task.id, "ada", Origin.SCHEDULED, at, at, 1, RunState.SKIPPED, Reason.MISSED_SKIPPED, ended=at))
    await console.service.tasks.import_history(ADA, task.id, runs)
    return runs


async def state_of(console: Console, task: Task) -> TaskState:
    return (await console.service.tasks.get(ADA, task.id)).status.state


async def fits(page: Page) -> bool:
    """Whether nothing is wider than the window."""
    return bool(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


async def test_list_shows_rows_in_both_languages(console: Console) -> None:
    report = await add_task(console, "morning report", labels={"team": "ops"})
    await add_history(console, report)
    await add_task(console, HOSTILE, "every 5m")
    await add_task(console, LONG_CHINESE, "0 9 * * 1-5")
    held = await add_task(console, "weekly digest")
    await console.service.tasks.pause(ADA, held.id, note="on holiday")
    for language in ("en", "zh"):
        page = await console.open("/tasks", language=language)
        row = page.locator(f"#task-{report.id}")
        await expect(row.locator(".marks a")).to_have_count(6)
        await expect(row).to_contain_text("Shanghai")
        await expect(page.locator(f"#task-{held.id}")).to_contain_text("on holiday")
    page = await console.open("/tasks", size="tablet")
    assert await fits(page)
    assert await page.locator("#rows").evaluate("rows => rows.scrollWidth <= rows.clientWidth"), "no column is cut"
    await expect(page.locator(f"#task-{report.id} .row-actions")).to_be_in_viewport(ratio=1)
    page = await console.open("/settings/about", size="phone")
    for links in (".pages >", ".tabs"):
        await expect(page.locator(f"{links} [aria-current]")).to_be_in_viewport(ratio=0.9)
    await page.goto(f"{console.url}/tasks")
    assert await fits(page)
    part = await page.request.get(f"{console.url}/tasks?part=rows")
    assert (part.status, (await part.text()).strip()[:14]) == (200, '<div id="rows"')
    await expect(page.get_by_text("<script>alert(1)</script>")).to_have_count(1)
    row = page.locator(f"#task-{report.id}")
    await expect(row).to_contain_text("every day at 09:00")
    mark = row.locator(".marks a").last
    assert "succeeded" in (await mark.get_attribute("aria-label") or "")
    await mark.focus()
    await page.keyboard.press("ArrowLeft")
    assert "failed" in (await page.locator(":focus").get_attribute("aria-label") or "")


async def test_filter_pages_and_refused_query(console: Console) -> None:
    for number in range(27):
        await add_task(console, f"task {number:02}", labels={"even": "yes"} if number % 2 == 0 else None)
    page = await console.open("/tasks", scripts=False)
    await expect(page.locator("table.tasks tbody tr")).to_have_count(25)
    await expect(page.locator(".bulk-bar")).to_contain_text("25 of 27")
    await page.get_by_role("link", name="Next page").click()
    await expect(page.locator("table.tasks tbody tr")).to_have_count(2)
    await page.get_by_label("Filter tasks").fill("label:even=yes")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.locator("table.tasks tbody tr")).to_have_count(14)
    await page.goto(console.url + "/tasks?q=name:nothing")
    await expect(page.get_by_text("Nothing matches the filter.")).to_be_visible()
    await page.goto(console.url + "/tasks?sort=next")
    await expect(page.locator("table.tasks tbody tr")).to_have_count(25)
    await expect(page.locator(".bulk-bar")).to_contain_text("25 of 27")
    response = await page.goto(console.url + "/tasks?q=late:>5s")
    assert response is not None
    assert response.status == 422
    await expect(page.get_by_role("alert")).to_be_visible()
    # Its rows would be refused again and again.
    await expect(page.locator("[data-live]")).to_have_count(0)
    console.problems.clear()


async def test_selected_tasks_are_paused_and_the_pause_is_undone(console: Console) -> None:
    tasks = [await add_task(console, name) for name in ("one", "two", "three")]
    page = await console.open("/tasks")
    for task in tasks[:2]:
        await page.locator(f"#tick-{task.id}").check()
    await expect(page.locator("[data-ticked]")).to_contain_text("2 selected")
    await page.get_by_role("button", name="Pause…").click()
    await page.get_by_label("Reason").fill("stock-taking")
    await page.get_by_label("Until").fill("not a time")
    await page.get_by_role("button", name="Pause tasks").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(page.get_by_label("Reason")).to_have_value("stock-taking")
    await page.get_by_label("Until").fill("tomorrow at 9am")
    await page.get_by_role("button", name="Pause tasks").click()
    await expect(page.locator("#notice")).to_contain_text("2 tasks were paused.")
    found = [await console.service.tasks.get(ADA, task.id) for task in tasks]
    assert [facts.status.state for facts in found] == ["paused", "paused", "active"]
    pause = found[0].status.pause
    assert pause is not None
    assert (pause.note, pause.until is not None) == ("stock-taking", True)
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("#notice")).to_contain_text("Undone: 2 tasks are as before.")
    assert [await state_of(console, task) for task in tasks] == ["active"] * 3
    console.problems.clear()  # The refused form answered 4xx, which the browser reports.


async def test_refused_tasks_of_a_bulk_action_are_listed(console: Console) -> None:
    going, ended = await add_task(console, "going"), await add_task(console, "ended")
    await console.service.tasks.cancel(ADA, ended.id)
    page = await console.open(f"/tasks/bulk?action=pause&id={going.id}&id={ended.id}", scripts=False)
    await page.get_by_role("button", name="Pause tasks").click()
    await expect(page.locator("main")).to_contain_text("1 task was paused. 1 was refused.")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await expect(page.locator("tbody tr")).to_contain_text("ended")
    assert [await state_of(console, task) for task in (going, ended)] == ["paused", "cancelled"]
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("#notice")).to_contain_text("Undone: 1 task is as before.")
    assert [await state_of(console, task) for task in (going, ended)] == ["active", "cancelled"]
    response = await page.goto(f"{console.url}/tasks/bulk?action=pause")
    assert response is not None
    assert response.status == 422
    console.problems.clear()


async def test_row_buttons_pause_with_undo_and_run_without_scripts(console: Console) -> None:
    task = await add_task(console, "report", "every 1h")
    page = await console.open("/tasks", scripts=False)
    await page.get_by_role("button", name="Pause report").click()
    await expect(page.locator("#notice")).to_contain_text("report is paused.")
    assert page.url == f"{console.url}/tasks"
    assert await state_of(console, task) == "paused"
    await page.get_by_role("button", name="Undo").click()
    assert await state_of(console, task) == "active"
    await page.get_by_role("button", name="Run report now").click()
    await expect(page.locator("#notice")).to_contain_text("runs once more")
    facts = await console.service.tasks.get(ADA, task.id)
    assert sum(entry.kind == "manual" for entry in facts.entries) == 1


async def test_deletion_of_all_matching_tasks_needs_their_number(console: Console) -> None:
    tasks = [await add_task(console, f"old {number}", labels={"old": "yes"}) for number in range(30)]
    kept = await add_task(console, "kept")
    page = await console.open("/tasks?q=label:old%3Dyes", scripts=False)
    await page.get_by_label("all 30 matching").check()
    await page.get_by_role("button", name="Delete…").click()
    await expect(page.locator("ul.rows li")).to_have_count(20)
    await page.get_by_label("Type the number").fill("3")
    await page.get_by_role("button", name="Delete tasks").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    assert await state_of(console, tasks[0]) == "active"
    await page.get_by_label("Type the number").fill("30")
    await page.get_by_role("button", name="Delete tasks").click()
    await expect(page.locator("#notice")).to_contain_text("30 tasks were deleted.")
    left = await console.service.tasks.page(ADA)
    assert [facts.task.id for facts in left.items] == [kept.id]
    console.problems.clear()


async def test_many_matching_tasks_are_an_operation_with_progress(console: Console) -> None:
    requests = [TaskRequest(f"task {number}", "every 1h", TARGET, zone="UTC") for number in range(205)]
    await console.service.tasks.create_many(ADA, requests, lambda task: task)
    page = await console.open("/tasks")
    await page.get_by_label("all 205 matching").check()
    await page.get_by_role("button", name="Pause…").click()
    await page.get_by_label("Type the number").fill("205")
    await page.get_by_role("button", name="Pause tasks").click()
    await expect(page).to_have_url(f"{console.url}/operations/{page.url.rpartition('/')[2]}")
    assert "/operations/opn_" in page.url
    await expect(page.get_by_text("205 of 205 tasks")).to_be_visible(timeout=20_000)
    listed = await console.service.tasks.page(ADA, limit=300)
    assert {facts.status.state for facts in listed.items} == {TaskState.PAUSED}
    await console.service.tasks.cancel(ADA, listed.items[7].task.id)
    address = page.url
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("204 of 205 tasks")).to_be_visible(timeout=20_000)
    await expect(page.locator("tbody tr")).to_contain_text("was changed after the action")
    assert await violations_in_both_themes(page) == []
    listed = await console.service.tasks.page(ADA, limit=300)
    assert Counter(facts.status.state for facts in listed.items) == {TaskState.ACTIVE: 204, TaskState.CANCELLED: 1}
    await page.goto(address)
    await expect(page.get_by_text("It was undone.")).to_be_visible()
    await expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    for who, status in (("ada", 409), ("bob", 404), ("vic", 403)):
        viewer = page if who == "ada" else await console.open("/tasks", who, scripts=False)
        token = await viewer.locator("input[name=csrf]").first.get_attribute("value")
        answer = await viewer.request.post(
            f"{address}/undo", form={"csrf": token or ""}, headers={"Origin": console.api.base}
        )
        assert answer.status == status, await answer.text()
    await _pause_selected(console, page, [facts.task for facts in listed.items[1:202]])
    states = [facts.status.state for facts in (await console.service.tasks.page(ADA, limit=300)).items]
    assert (states[0], states[202], states[-1]) == ("active",) * 3, "not selected"
    assert Counter(states) == {TaskState.PAUSED: 200, TaskState.ACTIVE: 4, TaskState.CANCELLED: 1}


async def _pause_selected(console: Console, page: Page, tasks: Sequence[Task]) -> None:
    """Pause more tasks than one request does, and wait for the end of the operation."""
    token = await page.locator("input[name=csrf]").first.get_attribute("value")
    fields = {"action": "pause", "ids": ",".join(task.id for task in tasks), "confirm": str(len(tasks))}
    answer = await page.request.post(
        f"{console.url}/tasks/bulk", form={"csrf": token or "", **fields}, headers={"Origin": console.api.base}
    )
    assert "/operations/opn_" in answer.url, await answer.text()
    await console.service.operations.wait(ADA, answer.url.rpartition("/")[2])


async def test_pause_by_filter_is_undone_exactly(console: Console) -> None:
    requests = [
        TaskRequest(f"task {number}", "every day at 09:00", TARGET, zone="UTC", labels={"team": "ops"})
        for number in range(150)
    ]
    tasks = await console.service.tasks.create_many(ADA, requests, lambda task: task)
    until = console.api.app.context.clock.now() + 24 * HOUR
    for task in tasks[10:20]:
        await console.service.tasks.pause(ADA, task.id, note="winter", until=until)
    await console.service.tasks.pause(ADA, tasks[30].id, cause=PauseCause.ORPHANED, note="gone")
    before = (await console.service.tasks.page(ADA, limit=300)).items
    page = await console.open("/tasks/bulk?action=pause&all=1&q=label:team%3Dops", scripts=False)
    await page.get_by_label("Reason").fill("stock-taking")
    await page.get_by_label("Type the number").fill("150")
    await page.get_by_role("button", name="Pause tasks").click()
    await expect(page.locator("#notice")).to_contain_text("150 tasks were paused.")
    paused = (await console.service.tasks.page(ADA, limit=300)).items
    assert {each.status.pause.note for each in paused if each.status.pause} == {"stock-taking"}
    await page.locator("#notice").get_by_role("button", name="Undo").click()
    await expect(page.locator("#notice")).to_contain_text("Undone: 150 tasks are as before.")
    assert "q=label" in page.url
    assert (await console.service.tasks.page(ADA, limit=300)).items == before


async def test_demo_tasks_are_loaded_and_removed_in_one_click(console: Console) -> None:
    for language in ("en", "zh"):
        page = await console.open("/tasks", language=language)
        assert await violations_in_both_themes(page) == []
    page = await console.open("/tasks", scripts=False)
    await expect(page.get_by_text('horae add "every 1m"')).to_be_visible()
    await page.get_by_role("button", name="Load demo tasks").click()
    await expect(page.locator("#notice")).to_contain_text("demo tasks were loaded")
    listed = await console.service.tasks.page(ADA)
    assert len(listed.items) >= 3
    assert all(("demo", "yes") in facts.task.labels for facts in listed.items)
    await page.get_by_role("button", name="Remove demo tasks").click()
    await expect(page.locator("#notice")).to_contain_text("were removed")
    assert (await console.service.tasks.page(ADA)).items == ()


async def test_viewers_see_no_actions_and_are_refused(console: Console) -> None:
    task = await add_task(console, "hers")
    page = await console.open("/tasks", "vic", scripts=False)
    await expect(page.locator("input[name=id]")).to_have_count(0)
    await expect(page.get_by_role("link", name="New task")).to_have_count(0)
    token = await page.locator("input[name=csrf]").first.get_attribute("value")
    for path, fields in (("/tasks/demo", {}), ("/tasks/bulk", {"action": "pause", "ids": task.id})):
        answer = await page.request.post(
            console.url + path, form={"csrf": token or "", **fields}, headers={"Origin": console.api.base}
        )
        assert answer.status == 403, await answer.text()
    assert await state_of(console, task) == "active"


async def test_view_is_saved_used_and_removed_with_undo(console: Console) -> None:
    await add_task(console, "failing", labels={"team": "ops"})
    page = await console.open("/tasks?q=label:team%3Dops", scripts=False)
    await page.get_by_text("Save or remove views").click()
    await page.get_by_label("Save this filter as").fill("我们的 ops")
    await page.get_by_role("button", name="Save view").click()
    (view,) = await console.service.views.all(ADA, "tasks")
    assert (view.name, view.query) == ("我们的 ops", "label:team=ops")
    await page.goto(console.url + "/tasks")
    await page.get_by_role("link", name="我们的 ops").click()
    await expect(page.get_by_label("Filter tasks")).to_have_value("label:team=ops")
    await page.get_by_text("Save or remove views").click()
    await page.get_by_role("button", name="Remove 我们的 ops").click()
    await expect(page.locator("#notice")).to_contain_text("was removed")
    assert await console.service.views.all(ADA, "tasks") == ()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("link", name="我们的 ops")).to_be_visible()
    assert await console.service.views.all(ADA, "tasks") == (view,)


async def test_system_tasks_have_a_tab_of_their_own_and_no_actions(console: Console) -> None:
    own = await add_task(console, "own")
    system = await console.service.system_tasks.create("ada", TaskRequest("turn", "every 1h", TARGET, zone="UTC"))
    page = await console.open("/tasks")
    await expect(page.locator(f"#task-{own.id}")).to_be_visible()
    await expect(page.locator(f"#task-{system.id}")).to_have_count(0)
    await page.get_by_role("link", name="System tasks").click()
    await expect(page.locator(f"#task-{system.id}")).to_contain_text("turn")
    await expect(page.locator("#rows tbody tr")).to_have_count(1)
    await expect(page.locator(".row-actions, .bulk-bar, .tick")).to_have_count(0)
    assert not await violations_in_both_themes(page)
    await page.get_by_role("link", name="turn").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("turn")
    for name in ("Edit", "Backfill…", "Delete…"):
        await expect(page.locator(".menu-actions").get_by_text(name, exact=True)).to_have_count(0)
    page = await console.open("/runs?system=1", language="zh")
    await expect(page.get_by_role("link", name="其他任务")).to_be_visible()
